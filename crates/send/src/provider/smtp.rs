//! SMTP, to a server that relays for the sender.
//!
//! | | |
//! |---|---|
//! | call | `EHLO`, `STARTTLS`, `AUTH`, `MAIL`, `RCPT`, `DATA`, the message, a dot; RFC 5321 |
//! | key | none: a repetition would be a second mail |
//! | window | none |
//! | look-up | none |
//! | test mode | a server of your own that keeps what it gets |
//!
//! A server is responsible for a mail from its positive answer to the final dot on, and it
//! cannot have accepted a mail whose dot it did not get. So everything before the message
//! proves that nothing was sent. A connection that breaks in the message proves nothing:
//! the last bytes and the dot may have arrived. The answer to the dot may take ten
//! minutes (section 4.5.3.2.6), since a shorter wait makes copies (RFC 1047).
//!
//! The single commands of `lettre` are used and not its `send`, whose errors do not say
//! how far it came.

use std::time::Duration;

use async_trait::async_trait;
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};

use crate::acceptance::Acceptance;
use crate::mail::Mail;
use crate::patience::{GRACE, within};
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::transport::Transport;

/// How long everything before the message may take.
const LONGEST_SESSION: Duration = Duration::from_mins(1);
/// How long a server may take to say goodbye. Its answer does not matter.
const GOODBYE: Duration = Duration::from_secs(5);
const MECHANISMS: [Mechanism; 2] = [Mechanism::Plain, Mechanism::Login];

/// How a connection is encrypted.
#[derive(Clone)]
pub(crate) enum Security {
    /// TLS from the first byte.
    Tls(TlsParameters),
    /// TLS after `STARTTLS`, which the server must offer.
    StartTls(TlsParameters),
    /// Not at all: a server on this machine.
    None,
}

/// A server that relays mail.
pub(crate) struct Smtp {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
    pub(crate) login: Option<(String, SecretString)>,
    /// The name that the client gives itself.
    pub(crate) hello: String,
    /// How long the answer to the final dot may take.
    pub(crate) answer_timeout: Duration,
}

/// How far a session came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Connecting, encrypting, greeting and logging in.
    Login,
    /// Sender, recipient, and the announcement of the message.
    Envelope,
    /// The message and its final dot.
    Message,
}

/// What a server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// A code.
    Code(u16),
    /// Nothing, or nothing that can be read.
    None,
    /// The client cannot go on: the server lacks something that is configured.
    Unfit,
}

impl From<&Error> for Reply {
    fn from(error: &Error) -> Self {
        match error.status() {
            Some(code) => Self::Code(code.into()),
            None if error.is_client() => Self::Unfit,
            None => Self::None,
        }
    }
}

/// What the end of a session means, if it is not a success.
fn meaning(stage: Stage, reply: Reply) -> Acceptance {
    match (stage, reply) {
        (_, Reply::Code(400..500)) => Acceptance::not_sent("smtp_try_later", None),
        (Stage::Login, Reply::Code(_) | Reply::Unfit) => Acceptance::sender_unfit("unauthorized"),
        // A server that wants a login says so here.
        (Stage::Envelope, Reply::Code(530 | 534 | 535 | 538)) => {
            Acceptance::sender_unfit("unauthorized")
        }
        (Stage::Envelope | Stage::Message, Reply::Code(500..600)) => {
            Acceptance::refused("smtp_refused")
        }
        (Stage::Login | Stage::Envelope, Reply::None) => {
            Acceptance::not_sent("not_connected", None)
        }
        (Stage::Envelope, Reply::Code(_) | Reply::Unfit) => {
            Acceptance::not_sent("unknown_answer", None)
        }
        (Stage::Message, Reply::None) => Acceptance::maybe("connection_broken"),
        (Stage::Message, Reply::Code(_) | Reply::Unfit) => Acceptance::maybe("unknown_answer"),
    }
}

impl Smtp {
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "smtp";

    fn session_timeout(&self) -> Duration {
        LONGEST_SESSION.min(self.answer_timeout)
    }

    /// Connects and logs in.
    async fn log_in(&self) -> Result<AsyncSmtpConnection, Error> {
        let hello = ClientId::Domain(self.hello.clone());
        let tls = match &self.security {
            Security::Tls(tls) => Some(tls.clone()),
            Security::StartTls(_) | Security::None => None,
        };
        let server = (self.host.as_str(), self.port);
        let limit = Some(self.session_timeout());
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, limit, &hello, tls, None).await?;
        if let Security::StartTls(tls) = &self.security {
            connection.starttls(tls.clone(), &hello).await?;
        }
        if let Some((user, password)) = &self.login {
            let password = password.expose_secret().to_owned();
            let login = Credentials::new(user.clone(), password);
            connection.auth(&MECHANISMS, &login).await?;
        }
        Ok(connection)
    }

    /// Everything before the message.
    async fn begin(&self, mail: &Prepared) -> Result<AsyncSmtpConnection, Acceptance> {
        let login = self.log_in().await;
        let mut connection = login.map_err(|error| meaning(Stage::Login, (&error).into()))?;
        let address = |text: &str| {
            let address = text.parse::<Address>().ok();
            address.ok_or_else(|| Acceptance::refused("unusable_address"))
        };
        let envelope = |error: Error| meaning(Stage::Envelope, (&error).into());
        let from = MailFrom::new(Some(address(&mail.from)?), Vec::new());
        connection.command(from).await.map_err(envelope)?;
        let to = Rcpt::new(address(&mail.to)?, Vec::new());
        connection.command(to).await.map_err(envelope)?;
        let answer = connection.command(Data).await.map_err(envelope)?;
        if answer.has_code(354) {
            Ok(connection)
        } else {
            Err(meaning(Stage::Envelope, Reply::Code(answer.code().into())))
        }
    }
}

#[async_trait]
impl Transport for Smtp {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        Prepared::message(Self::NAME, mail)
    }

    async fn hand_over(&self, mail: &Prepared, key: &ProviderKey) -> Acceptance {
        let begun = within(self.session_timeout(), self.begin(mail)).await;
        let mut connection = match begun {
            Some(Ok(connection)) => connection,
            Some(Err(meaning)) => return meaning,
            None => return Acceptance::not_sent("no_answer", None),
        };
        let message = connection.message(mail.body.as_bytes());
        let answer = match within(self.answer_timeout, message).await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => return meaning(Stage::Message, (&error).into()),
            None => return Acceptance::maybe("no_answer"),
        };
        let code: u16 = answer.code().into();
        if !(200..300).contains(&code) {
            return meaning(Stage::Message, Reply::Code(code));
        }
        let text = answer.message().collect::<Vec<_>>().join(" ");
        tokio::spawn(async move { within(GOODBYE, connection.quit()).await });
        Acceptance::sent(queue_id(&text).unwrap_or(&key.to_string()))
    }

    fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    async fn reach(&self) -> Reach {
        match within(self.session_timeout(), self.log_in()).await {
            Some(Ok(mut connection)) => {
                within(GOODBYE, connection.quit()).await;
                Reach::Reached
            }
            Some(Err(error)) => match meaning(Stage::Login, (&error).into()) {
                Acceptance::NotSent(not_sent) if not_sent.concerns_sender => Reach::LoginRefused,
                _ => Reach::NotReached,
            },
            None => Reach::NotReached,
        }
    }

    fn timeout(&self) -> Duration {
        self.session_timeout() + self.answer_timeout + 2 * GRACE
    }
}

/// The id that most servers name: `2.0.0 Ok: queued as 4WxYz`.
fn queue_id(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("queued as ")?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, assert_kind};

    #[test]
    fn only_the_message_stage_can_leave_it_open() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit};
        let code = Reply::Code;
        for (stage, reply, expected) in [
            (Stage::Login, Reply::None, NotSent),
            (Stage::Login, Reply::Unfit, SenderUnfit),
            (Stage::Login, code(421), NotSent),
            (Stage::Login, code(535), SenderUnfit),
            (Stage::Login, code(554), SenderUnfit),
            (Stage::Envelope, Reply::None, NotSent),
            (Stage::Envelope, code(450), NotSent),
            (Stage::Envelope, code(530), SenderUnfit),
            (Stage::Envelope, code(550), Refused),
            (Stage::Envelope, code(250), NotSent),
            (Stage::Message, Reply::None, Maybe),
            (Stage::Message, code(452), NotSent),
            (Stage::Message, code(554), Refused),
            (Stage::Message, code(354), Maybe),
            (Stage::Message, Reply::Unfit, Maybe),
        ] {
            let what = format!("{stage:?} {reply:?}");
            assert_kind(&meaning(stage, reply), expected, &what);
        }
    }

    #[test]
    fn queue_id_is_found_in_the_usual_answer() {
        assert_eq!(queue_id("2.0.0 Ok: queued as 4WxYz"), Some("4WxYz"));
        assert_eq!(queue_id("OK"), None);
    }
}
