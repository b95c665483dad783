//! What sealing costs beside the work that it is part of.
//!
//!   cargo bench -p store --bench sealing
//!
//! Takes deliveries of 20 KB all the way on a SQLite file: recorded, claimed,
//! completed with a code, consumed. Then does to as many bytes what sealing does to
//! them, alone. The ratio is of the step as it is to the step without that; both
//! are of the same run, so the machine's mood cancels out.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on fails, and says what it found"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use pipeline::Consumed;
use store::{SealKey, Secrets, Settings};
use testkit::store_contract::{Seams, code, delivery, held, inbox, mail, request, server_key};

const COUNT: usize = 2000;
const BODY: usize = 20_000;
const LEASE: Duration = Duration::from_hours(1);

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("bench.db").display());
    let secrets = Secrets {
        keyring: SealKey::new([7; 32]).into(),
        server_key: server_key(),
    };
    let settings = Settings::new(url.into()).sealed_with(secrets);
    let store = store::open(&settings).await.unwrap();
    let seams = Seams {
        deliveries: Arc::clone(&store.deliveries),
        work: Arc::clone(&store.work),
        agents: Arc::clone(&store.agents),
        inboxes: Arc::clone(&store.inboxes),
        attempts: Arc::clone(&store.attempts),
        audit: Arc::clone(&store.audit),
        failures: Arc::clone(&store.failures),
        probe: Arc::clone(&store.probe),
    };
    let steps = work(&seams).await;
    let crypto = [seal(BODY), open(BODY), seal(6), open(6)];
    println!("step      each       sealing    with : without");
    for ((name, step), part) in steps.into_iter().zip(crypto) {
        let (step, part) = (step.as_secs_f64() * 1e6, part.as_secs_f64() * 1e6);
        let ratio = step / (step - part);
        println!("{name:<9} {step:>7.1} us {part:>7.1} us  {ratio:.3}");
    }
    store.close().await;
}

/// How long each step takes for one delivery.
async fn work(seams: &Seams) -> [(&'static str, Duration); 4] {
    let to = inbox("bench");
    let body = vec![b'x'; BODY];
    let mut spent = [Duration::ZERO; 4];
    for number in 0..COUNT {
        let name = format!("m{number}");
        let began = Instant::now();
        let recorded = seams.record(delivery(&name, &body)).await;
        spent[0] += began.elapsed();

        let began = Instant::now();
        let (claim, _) = seams.claim(recorded.id(), LEASE).await;
        spent[1] += began.elapsed();

        let artifact = code(&to, &format!("{}", 100_000 + number));
        let id = artifact.id;
        let began = Instant::now();
        seams
            .complete(claim, held(vec![mail(&to, &name, vec![artifact])]))
            .await;
        spent[2] += began.elapsed();

        let began = Instant::now();
        let consumed = seams.consume(&request(id, "a", &name)).await;
        spent[3] += began.elapsed();
        assert!(matches!(consumed, Consumed::First { .. }));
    }
    let count = u32::try_from(COUNT).unwrap();
    let each = spent.map(|spent| spent / count);
    [
        ("record", each[0]),
        ("claim", each[1]),
        ("complete", each[2]),
        ("consume", each[3]),
    ]
}

const ASSOCIATED: [u8; 96] = [3; 96];

fn cipher() -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&[7; 32].into())
}

/// How long it takes to seal so many bytes.
fn seal(length: usize) -> Duration {
    let (cipher, plain) = (cipher(), vec![b'x'; length]);
    let began = Instant::now();
    for _ in 0..COUNT {
        let nonce: [u8; 24] = rand::random();
        let payload = Payload {
            msg: black_box(&plain),
            aad: &ASSOCIATED,
        };
        black_box(cipher.encrypt(&XNonce::from(nonce), payload).unwrap());
    }
    began.elapsed() / u32::try_from(COUNT).unwrap()
}

/// How long it takes to open them again.
fn open(length: usize) -> Duration {
    let (cipher, nonce) = (cipher(), XNonce::from([5; 24]));
    let payload = Payload {
        msg: &vec![b'x'; length],
        aad: &ASSOCIATED,
    };
    let sealed = cipher.encrypt(&nonce, payload).unwrap();
    let began = Instant::now();
    for _ in 0..COUNT {
        let payload = Payload {
            msg: black_box(&sealed),
            aad: &ASSOCIATED,
        };
        black_box(cipher.decrypt(&nonce, payload).unwrap());
    }
    began.elapsed() / u32::try_from(COUNT).unwrap()
}
