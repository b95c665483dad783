//! Builds a sender from its settings.

use std::sync::Arc;

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use pipeline::Clock;
use providers::Scope;
use secrecy::SecretString;
use url::{Host, Url};

use super::{Sender, SenderFlaw};
use crate::http::{Http, api_url};
use crate::mailbox::Mailbox;
use crate::provider::{AgentMail, Postmark, Resend, Security, Ses, Smtp};
use crate::recipients::Recipients;
use crate::settings::{SendSettings, SenderSettings, SmtpTls};
use crate::transport::Transport;

impl Sender {
    /// Checks the settings of a sender.
    pub(crate) fn build(
        name: &str,
        settings: SenderSettings,
        shared: &SendSettings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, SenderFlaw> {
        let from: Mailbox = settings.from.parse()?;
        let recipients = Recipients::parse(&settings.recipients).map_err(SenderFlaw::Recipient)?;
        let transport = transport(&settings, &from, shared, clock)?;
        let mut links = Vec::new();
        for host in settings.links {
            match Host::parse(&host) {
                Ok(Host::Domain(domain)) => links.push(domain),
                _ => return Err(SenderFlaw::Link(host)),
            }
        }
        Ok(Self {
            name: name.parse()?,
            from,
            recipients,
            links,
            templates: settings.templates,
            on_uncertain: settings.on_uncertain,
            approval: settings.approval,
            per_recipient_day: settings.per_recipient_day,
            per_key_hour: settings.per_key_hour,
            transport,
        })
    }
}

fn transport(
    settings: &SenderSettings,
    from: &Mailbox,
    shared: &SendSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Transport>, SenderFlaw> {
    let http = || Http::new(shared.timeout);
    match settings.provider.as_str() {
        Resend::NAME => {
            refuse_others(settings, &["api_url", "api_key"])?;
            Ok(Arc::new(Resend {
                api: url(settings, Resend::API)?,
                api_key: api_key(settings)?,
                http: http()?,
            }))
        }
        Postmark::NAME => {
            refuse_others(settings, &["api_url", "api_key", "stream"])?;
            let stream = settings.stream.as_deref().unwrap_or("outbound");
            Ok(Arc::new(Postmark {
                api: url(settings, Postmark::API)?,
                api_key: api_key(settings)?,
                stream: stream.to_owned(),
                http: http()?,
            }))
        }
        AgentMail::NAME => {
            refuse_others(settings, &["api_url", "api_key", "inbox"])?;
            let inbox = settings.inbox.clone();
            let inbox = inbox.unwrap_or_else(|| from.address().to_string());
            if matches!(inbox.as_str(), "" | "." | "..") {
                return Err(SenderFlaw::Unusable("inbox"));
            }
            Ok(Arc::new(AgentMail {
                api: url(settings, AgentMail::API)?,
                api_key: api_key(settings)?,
                inbox,
                http: http()?,
            }))
        }
        Ses::NAME => Ok(Arc::new(ses(settings, shared, clock)?)),
        Smtp::NAME => Ok(Arc::new(smtp(settings, from, shared)?)),
        _ => Err(SenderFlaw::Provider),
    }
}

fn ses(
    settings: &SenderSettings,
    shared: &SendSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Ses, SenderFlaw> {
    refuse_others(settings, &["api_url", "region", "access_key", "secret_key"])?;
    let region = settings.region.clone();
    let region = region.ok_or(SenderFlaw::Missing("region"))?;
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if region.is_empty() || !region.bytes().all(is_plain) {
        return Err(SenderFlaw::Unusable("region"));
    }
    let access_key = settings.access_key.clone();
    let secret_key = settings.secret_key.clone();
    Ok(Ses {
        api: url(settings, &Ses::api(&region))?,
        scope: Scope {
            access_key: access_key.ok_or(SenderFlaw::Missing("access_key"))?,
            region,
        },
        secret_key: secret_key.ok_or(SenderFlaw::Missing("secret_key"))?,
        clock: Arc::clone(clock),
        http: Http::new(shared.timeout)?,
    })
}

fn smtp(
    settings: &SenderSettings,
    from: &Mailbox,
    shared: &SendSettings,
) -> Result<Smtp, SenderFlaw> {
    let own = ["host", "port", "tls", "ca_file", "username", "password"];
    refuse_others(settings, &own)?;
    let host = settings.host.clone().ok_or(SenderFlaw::Missing("host"))?;
    let tls = settings.tls.unwrap_or(SmtpTls::Implicit);
    let port = match tls {
        SmtpTls::Implicit => 465,
        SmtpTls::Starttls => 587,
        SmtpTls::Off => 25,
    };
    let security = match tls {
        SmtpTls::Implicit => Security::Tls(tls_parameters(settings, &host)?),
        SmtpTls::Starttls => Security::StartTls(tls_parameters(settings, &host)?),
        SmtpTls::Off if is_here(&host) => Security::None,
        SmtpTls::Off => return Err(SenderFlaw::PlainText),
    };
    let login = match (&settings.username, &settings.password) {
        (Some(user), Some(password)) => Some((user.clone(), password.clone())),
        (None, None) => None,
        (Some(_), None) => return Err(SenderFlaw::Missing("password")),
        (None, Some(_)) => return Err(SenderFlaw::Missing("username")),
    };
    Ok(Smtp {
        host,
        port: settings.port.unwrap_or(port),
        security,
        login,
        hello: from.domain().to_owned(),
        answer_timeout: shared.smtp_timeout,
    })
}

/// TLS that trusts the system's authorities, or only those of the configured file.
fn tls_parameters(settings: &SenderSettings, host: &str) -> Result<TlsParameters, SenderFlaw> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(file) = &settings.ca_file {
        let pem = std::fs::read(file).or(Err(SenderFlaw::CaFile))?;
        let certificate = Certificate::from_pem(&pem).or(Err(SenderFlaw::CaFile))?;
        builder = builder
            .certificate_store(CertificateStore::None)
            .add_root_certificate(certificate);
    }
    builder.build_rustls().or(Err(SenderFlaw::Unusable("host")))
}

fn is_here(host: &str) -> bool {
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn url(settings: &SenderSettings, usual: &str) -> Result<Url, SenderFlaw> {
    let text = settings.api_url.as_deref().unwrap_or(usual);
    api_url(text).ok_or(SenderFlaw::Url)
}

fn api_key(settings: &SenderSettings) -> Result<SecretString, SenderFlaw> {
    let key = settings.api_key.clone();
    key.ok_or(SenderFlaw::Missing("api_key"))
}

/// Fails if a setting is set that is another provider's.
fn refuse_others(settings: &SenderSettings, own: &[&str]) -> Result<(), SenderFlaw> {
    let set = [
        ("api_url", settings.api_url.is_some()),
        ("api_key", settings.api_key.is_some()),
        ("stream", settings.stream.is_some()),
        ("inbox", settings.inbox.is_some()),
        ("region", settings.region.is_some()),
        ("access_key", settings.access_key.is_some()),
        ("secret_key", settings.secret_key.is_some()),
        ("host", settings.host.is_some()),
        ("port", settings.port.is_some()),
        ("tls", settings.tls.is_some()),
        ("ca_file", settings.ca_file.is_some()),
        ("username", settings.username.is_some()),
        ("password", settings.password.is_some()),
    ];
    let foreign = set
        .iter()
        .find(|(name, is_set)| *is_set && !own.contains(name));
    foreign.map_or(Ok(()), |(name, _)| Err(SenderFlaw::Unfit(name)))
}
