//! Times the extractor on raw mails.
fn main() {
    let mut times = vec![];
    let mut stack: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    let policy = extract::Policy::default();
    let _ = extract::extract(b"From: a@b.example\n\nYour code is 123456", &policy);
    let (mut codes, mut links) = (0, 0);
    while let Some(p) = stack.pop() {
        if p.is_dir() { stack.extend(std::fs::read_dir(&p).unwrap().map(|e| e.unwrap().path())); continue; }
        let raw = std::fs::read(&p).unwrap();
        let t = std::time::Instant::now();
        let got = extract::extract(&raw, &policy);
        times.push((t.elapsed().as_micros(), raw.len(), p.clone()));
        if let Ok(g) = &got { if g.code.found().is_some() { codes += 1; println!("code {} {}", p.display(), g.code.found().unwrap().value); } if g.link.found().is_some() { links += 1; println!("link {} {}", p.display(), g.link.found().unwrap().url); } }
        else { println!("{:?} {}", got.err(), p.display()); }
    }
    times.sort();
    println!("{} files, codes {codes} links {links}", times.len());
    for t in times.iter().rev().take(6) { println!("{:?}", t); }
    let total: u128 = times.iter().map(|t| t.0).sum(); let bytes: usize = times.iter().map(|t| t.1).sum();
    println!("total {total} us, {bytes} bytes");
}
