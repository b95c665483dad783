//! Makes hostile mails and mutates them to find the most expensive ones.

/// Pieces that mails are made of. Each one aims at a loop of the reader.
const PIECES: &[&str] = &[
    "<div>",
    "<p>",
    "</x>",
    "</div>",
    "<b>1</b>",
    "<td>7",
    "<span class='a b c d e f g h'>",
    "<span class='a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a'>",
    "<i title='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'>",
    "<p style='color:#fff;opacity:.5;display:none;font-size:0'>",
    "<a href=https://a.example/verify?token=Zk3v9QmB7tY1abcd>Verify email</a>",
    "<a href=//>x</a>",
    "<a title='click here to verify your email address now'>",
    "<img alt='verify'>",
    "<input value=482913>",
    "<details>",
    "<table><tr><td>",
    "<!-- x -->",
    "<style>",
    "</style>",
    "a{color:red}",
    "p{display:none}",
    ".a .b .c{display:none}",
    ".a,.b,.c,.d,.e,.f,.g,.h{color:#000;font-size:1px;opacity:0}",
    "[title*=xy]{display:none}",
    "[title~=x] [class*=a] i{display:none}",
    "div div div div div{color:red}",
    "*{opacity:.9}",
    "p:not(.a){display:none}",
    "a+b{display:none}",
    "@media screen{p{color:#fff}}",
    "opacity:.1;",
    "{",
    "}",
    ",.x",
    "&amp;",
    "&#x31;",
    "<",
    "\"",
    "='",
    " ",
    "\n",
    "\t",
    "-",
    "!",
    "a ",
    "1 ",
    "A",
    "x",
    "4",
    "482913\n",
    "482 913 ",
    "ABCD EFGH ",
    "Your verification code is ",
    "verification code to sign in ",
    "code code ",
    "pin otp sms token ",
    "para bil tan kun 4821 ",
    "Click the link below to confirm your email address ",
    "if this was not you ",
    "$ ",
    "> ",
    "(",
    ")",
    ")))))))))))))))]]]]]]]]]]}}}}}}",
    "https://a.example/",
    "https://a.example/a/b/c?d=e&f=g&h=i ",
    "https://a.example/?u=https%253A%252F%252Fb.example ",
    "https://safelinks.protection.outlook.com/?url=https%3A%2F%2Fa.example ",
    "<https://a.example/",
    "://",
    "verify/confirm/login/reset/",
    "@a.example #482913\n",
    "é",
    "е\u{301}",
    "\u{200d}",
    "٤٨",
    "验证码",
    "код",
    "인증번호",
    "รหัส",
    "\u{fffd}",
    "--b\n",
    "--b\nContent-Type: text/html\n\n",
    "--b\nContent-Type: multipart/mixed; boundary=b\n\n",
    "--b--\n",
    "=?utf-8?q?x?= ",
    "=?11?q?",
    "Content-Type: =?11?q? =?11?q? =?11?q? =?11?q? =?11?q? =?11?q? =?11?q? =?11?q? ",
    "a@b.example, ",
    "; name*0=x",
    "; charset=x",
    "X-A: b\n",
    "=41=42",
    "WW91ciBjb2Rl",
];

/// The headers in front of the pieces.
const HEADS: &[&str] = &[
    "From: a@b.example\nContent-Type: text/html; charset=utf-8\n\n",
    "From: a@b.example\nContent-Type: text/html; charset=utf-8\n\n<style>",
    "From: a@b.example\nContent-Type: text/html; charset=utf-8\n\n<p class='",
    "From: a@b.example\n\n",
    "From: a@b.example\nContent-Type: text/plain; format=flowed\n\n",
    "From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n",
    "From: a@b.example\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n",
    "From: a@b.example\nContent-Transfer-Encoding: base64\n\n",
    "From: a@b.example\nSubject: ",
    "From: a@b.example\nTo: ",
    "From: a@b.example\nContent-Type: text/plain",
    "",
];

/// A small random number generator, so that a seed gives the same mails everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }
}

/// A recipe for a mail: a head, and pieces that are each repeated.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    head: usize,
    pieces: Vec<(usize, usize)>,
    /// The whole is repeated until the mail has about this size.
    size: usize,
}

impl Recipe {
    pub(crate) fn random(random: &mut Random, size: usize) -> Self {
        let count = 1 + random.below(6);
        Self {
            head: random.below(HEADS.len()),
            pieces: (0..count).map(|_| piece(random)).collect(),
            size,
        }
    }

    /// A copy with one to three changes.
    pub(crate) fn mutated(&self, random: &mut Random) -> Self {
        let mut changed = self.clone();
        for _ in 0..=random.below(3) {
            changed.mutate(random);
        }
        changed
    }

    fn mutate(&mut self, random: &mut Random) {
        let at = random.below(self.pieces.len());
        match random.below(7) {
            0 => self.head = random.below(HEADS.len()),
            1 if self.pieces.len() > 1 => {
                self.pieces.remove(at);
            }
            2 | 3 => self.pieces.insert(at, piece(random)),
            4 => self.pieces[at] = piece(random),
            5 => self.pieces[at].1 = times(random),
            _ => {
                let other = random.below(self.pieces.len());
                self.pieces.swap(at, other);
            }
        }
    }

    /// The mail. Pieces with many repetitions come once, the others fill up the size.
    pub(crate) fn mail(&self) -> Vec<u8> {
        let mut mail = HEADS[self.head].to_owned();
        let round: String = self
            .pieces
            .iter()
            .map(|(piece, times)| PIECES[*piece].repeat(*times))
            .collect();
        while mail.len() + round.len() < self.size {
            mail.push_str(&round);
        }
        let rest = round.floor_char_boundary(self.size.saturating_sub(mail.len()));
        mail.push_str(&round[..rest]);
        mail.into_bytes()
    }
}

fn piece(random: &mut Random) -> (usize, usize) {
    (random.below(PIECES.len()), times(random))
}

fn times(random: &mut Random) -> usize {
    [1, 1, 2, 8, 64, 300, 2_000, 20_000][random.below(8)]
}
