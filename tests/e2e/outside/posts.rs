//! Posts in the formats that the providers document, with all their usual fields. The
//! values are ours.

use pipeline::Timestamp;
use serde_json::{Value, json};

/// The mail that every post holds: to this inbox, with this code.
#[derive(Clone, Copy)]
pub(super) struct Mail<'a> {
    pub(super) inbox: &'a str,
    pub(super) code: &'a str,
    /// Unix seconds.
    pub(super) at: i64,
}

const FROM: &str = "Lighthouse Accounts <no-reply@lighthouse.example>";
const SENDER: &str = "no-reply@lighthouse.example";
const SUBJECT: &str = "Confirm your sign-in";

impl Mail<'_> {
    fn text(&self) -> String {
        format!("Hello,\n\nyour verification code is {}.\n", self.code)
    }

    fn html(&self) -> String {
        let code = self.code;
        format!(
            "<html><body><p>Hello,</p><p>your verification code is <b>{code}</b>.</p></body></html>"
        )
    }

    fn message_id(&self) -> String {
        format!("<{}@lighthouse.example>", self.code)
    }

    /// The mail itself.
    pub(super) fn raw(&self) -> String {
        let (id, inbox) = (self.message_id(), self.inbox);
        format!(
            "Return-Path: <{SENDER}>\r\nFrom: {FROM}\r\nTo: <{inbox}>\r\nSubject: {SUBJECT}\r\n\
             Message-ID: {id}\r\nMIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{}",
            self.text().replace('\n', "\r\n")
        )
    }

    /// `AgentMail`'s `message.received`.
    pub(super) fn agentmail(&self) -> Value {
        let inbox = self.inbox;
        json!({
            "type": "event", "event_type": "message.received", "event_id": "evt_outside",
            "message": {
                "organization_id": "org_1", "pod_id": "pod_1", "inbox_id": inbox,
                "thread_id": "thd_1", "message_id": self.message_id(), "labels": ["received"],
                "from": FROM, "to": [inbox], "subject": SUBJECT, "preview": "Hello,",
                "text": self.text(), "html": self.html(), "extracted_text": self.text(),
                "attachments": [], "size": 912,
            },
            "thread": { "thread_id": "thd_1", "senders": [FROM], "message_count": 1 },
        })
    }

    /// `CloudMailin`'s JSON (normalized).
    pub(super) fn cloudmailin(&self) -> Value {
        let inbox = self.inbox;
        json!({
            "headers": {
                "received": ["from mx.lighthouse.example by in.example.net", "by mx"],
                "from": FROM, "to": inbox, "subject": SUBJECT,
                "message_id": self.message_id(), "mime_version": "1.0",
                "content_type": "multipart/alternative; boundary=xyz",
            },
            "envelope": {
                "to": inbox, "recipients": [inbox], "from": SENDER, "tls": true,
                "helo_domain": "mx.lighthouse.example", "remote_ip": "192.0.2.7",
                "spf": { "result": "pass", "domain": "lighthouse.example" },
            },
            "plain": self.text(), "html": self.html(), "reply_plain": null, "attachments": [],
        })
    }

    /// `MailerSend`'s `inbound.message`.
    pub(super) fn mailersend(&self) -> Value {
        let inbox = self.inbox;
        json!({
            "type": "inbound.message", "inbound_id": "in_1",
            "url": "https://mail.example.com/hooks/mailersend",
            "data": {
                "object": "message", "id": "ms_outside",
                "recipients": {
                    "rcptTo": [{ "email": inbox }],
                    "to": { "raw": inbox, "data": [{ "email": inbox, "name": "" }] },
                },
                "from": { "email": SENDER, "name": "Lighthouse Accounts", "raw": FROM },
                "sender": { "email": SENDER }, "subject": SUBJECT,
                "headers": { "Message-ID": self.message_id() },
                "text": self.text(), "html": self.html(), "raw": self.raw(),
                "attachments": [], "spf_check": { "code": "+", "value": null },
                "dkim_check": true,
            },
        })
    }

    /// Mailgun's form for a route with `forward()`, without its proof.
    pub(super) fn mailgun(&self) -> Vec<(&'static str, String)> {
        let headers = json!([
            ["X-Mailgun-Incoming", "Yes"],
            ["From", FROM],
            ["To", self.inbox],
            ["Subject", SUBJECT],
            ["Message-Id", self.message_id()],
        ]);
        vec![
            ("recipient", self.inbox.to_owned()),
            ("sender", SENDER.to_owned()),
            ("subject", SUBJECT.to_owned()),
            ("from", FROM.to_owned()),
            ("X-Mailgun-Incoming", "Yes".to_owned()),
            ("message-headers", headers.to_string()),
            ("body-plain", self.text()),
            ("body-html", self.html()),
            ("stripped-text", self.text()),
            ("stripped-html", self.html()),
            ("stripped-signature", String::new()),
        ]
    }

    /// Mailhook's inbound email.
    pub(super) fn mailhook(&self) -> Value {
        json!({ "data": { "id": "ie_outside", "type": "inbound_email", "attributes": {
            "from": SENDER, "subject": SUBJECT, "text_body": self.text(),
            "html_body": self.html(), "read": false,
        } } })
    }

    /// Mandrill's list of events.
    pub(super) fn mandrill(&self) -> Value {
        json!([{ "event": "inbound", "ts": self.at, "msg": {
            "raw_msg": self.raw(), "headers": { "From": FROM, "Subject": SUBJECT },
            "text": self.text(), "text_flowed": false, "html": self.html(),
            "from_email": SENDER, "from_name": "Lighthouse Accounts",
            "to": [[self.inbox, null]], "email": self.inbox, "subject": SUBJECT, "tags": [],
            "sender": null, "spam_report": { "score": 0.1, "matched_rules": [] },
            "dkim": { "signed": true, "valid": true }, "spf": { "result": "pass" },
        } }])
    }

    /// Nylas's `message.created`.
    pub(super) fn nylas(&self) -> Value {
        let person = |name: &str, email: &str| json!([{ "name": name, "email": email }]);
        json!({
            "specversion": "1.0", "type": "message.created", "source": "/google/emails/realtime",
            "id": "nylas-outside", "time": self.at, "webhook_delivery_attempt": 1,
            "data": { "application_id": "app-1", "object": {
                "object": "message", "id": "m-outside", "grant_id": "grant-1",
                "thread_id": "t-1", "date": self.at, "folders": ["INBOX", "UNREAD"],
                "unread": true, "starred": false, "snippet": "Hello,", "attachments": [],
                "from": person("Lighthouse Accounts", SENDER),
                "to": person("Somebody", "somebody@elsewhere.test"),
                "cc": person("", self.inbox), "bcc": [], "reply_to": [],
                "subject": SUBJECT, "body": self.html(),
            } },
        })
    }

    /// Postal's hash format, which is its default.
    pub(super) fn postal(&self) -> Value {
        json!({
            "id": 77, "rcpt_to": self.inbox, "mail_from": SENDER, "token": "outside",
            "subject": SUBJECT, "message_id": "outside@lighthouse.example",
            "timestamp": self.at, "size": "1042", "spam_status": "NotSpam", "bounce": false,
            "received_with_ssl": true, "to": self.inbox, "cc": null, "from": FROM,
            "date": "Sun, 15 Nov 2026 10:00:00 +0000", "in_reply_to": null,
            "references": null, "html_body": self.html(), "plain_body": self.text(),
            "auto_submitted": null, "attachment_quantity": 0, "attachments": [],
            "replies_from_plain_body": null,
        })
    }

    /// Postmark's inbound message, without the raw content.
    pub(super) fn postmark(&self) -> Value {
        let person =
            |name: &str, email: &str| json!({ "Email": email, "Name": name, "MailboxHash": "" });
        json!({
            "FromName": "Lighthouse Accounts", "MessageStream": "inbound", "From": SENDER,
            "FromFull": person("Lighthouse Accounts", SENDER), "To": self.inbox,
            "ToFull": [person("", self.inbox)], "Cc": "", "CcFull": [], "Bcc": "",
            "BccFull": [], "OriginalRecipient": self.inbox, "Subject": SUBJECT,
            "MessageID": "5f3b0a52-0000-4000-8000-00000000c0de", "ReplyTo": "",
            "MailboxHash": "", "Date": "Sun, 15 Nov 2026 10:00:00 +0000",
            "TextBody": self.text(), "HtmlBody": self.html(), "StrippedTextReply": "", "Tag": "",
            "Headers": [
                { "Name": "Return-Path", "Value": format!("<{SENDER}>") },
                { "Name": "X-Spam-Status", "Value": "No" },
                { "Name": "Message-ID", "Value": self.message_id() },
            ],
            "Attachments": [],
        })
    }

    /// Resend's `email.received`, which only announces the mail.
    pub(super) fn resend(&self) -> Value {
        let at = Timestamp::from_millis(self.at * 1000).to_string();
        json!({
            "type": "email.received", "created_at": at,
            "data": {
                "email_id": "resend-outside", "created_at": at,
                "from": FROM, "to": [self.inbox], "bcc": [], "cc": [],
                "message_id": self.message_id(), "subject": SUBJECT, "attachments": [],
            },
        })
    }

    /// What SES publishes to the topic.
    pub(super) fn ses(&self, encoded: &str) -> Value {
        let pass = json!({ "status": "PASS" });
        json!({
            "notificationType": "Received",
            "mail": {
                "source": SENDER, "messageId": "ses-outside", "destination": [self.inbox],
                "headersTruncated": false,
                "headers": [{ "name": "Subject", "value": SUBJECT }],
                "commonHeaders": { "from": [FROM], "to": [self.inbox], "subject": SUBJECT },
            },
            "receipt": {
                "processingTimeMillis": 310, "recipients": [self.inbox],
                "spamVerdict": pass, "virusVerdict": pass, "spfVerdict": pass,
                "dkimVerdict": pass, "dmarcVerdict": { "status": "GRAY" },
                "action": { "type": "SNS", "topicArn": "arn", "encoding": "BASE64" },
            },
            "content": encoded,
        })
    }

    /// `SendGrid`'s form without the raw message; the text is in this charset.
    pub(super) fn sendgrid(&self, charset: &str, text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let headers = format!(
            "Received: by mx.sendgrid.net\nFrom: {FROM}\nTo: {}\nMessage-ID: {}\n\
             Content-Type: text/plain; charset={charset}\n",
            self.inbox,
            self.message_id()
        );
        let envelope = json!({ "to": [self.inbox], "from": SENDER });
        let charsets =
            json!({ "to": "UTF-8", "subject": "UTF-8", "from": "UTF-8", "text": charset });
        let field = |name, value: String| (name, value.into_bytes());
        vec![
            field("headers", headers),
            field("dkim", "{@lighthouse.example : pass}".to_owned()),
            field("to", self.inbox.to_owned()),
            field("from", FROM.to_owned()),
            ("text", text.to_vec()),
            field("sender_ip", "192.0.2.7".to_owned()),
            field("envelope", envelope.to_string()),
            field("attachments", "0".to_owned()),
            field("subject", SUBJECT.to_owned()),
            field("charsets", charsets.to_string()),
            field("SPF", "pass".to_owned()),
        ]
    }

    /// A sender of our own with parsed fields.
    pub(super) fn fields(&self) -> Value {
        json!({ "id": "evt_1", "type": "message.received", "message": {
            "to": [self.inbox], "from": FROM, "subject": SUBJECT, "text": self.text(),
            "html": self.html(),
        } })
    }
}
