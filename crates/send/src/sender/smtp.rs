//! The sender that uses an SMTP server, from its settings.

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};

use super::SenderFlaw;
use super::foreign::refuse_others;
use crate::mailbox::Mailbox;
use crate::provider::{Security, Smtp};
use crate::settings::{SendSettings, SenderSettings, SmtpTls};

pub(super) fn smtp(
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
