use super::*;

fn leaves(url: &str) -> bool {
    let allowed = Allowlist::parse(["example.com", "*.example.com"]).unwrap();
    Redirects::of(&Url::parse(url).unwrap()).leave(&allowed)
}

#[test]
fn redirect_to_another_host_is_found_in_every_form() {
    for url in [
        "https://example.com/r?next=https://evil.test/",
        "https://example.com/r?u=https%3A%2F%2Fevil.test",
        "https://example.com/r?u=%2568ttps%253A%252F%252Fevil.test",
        "https://example.com/r?u=https%25253A%25252F%25252Fevil.test",
        "https://example.com/r?u=https%2525253A%2525252F%2525252Fevil.test",
        "https://example.com/r?u=//evil.test",
        "https://example.com/r?u=%5C%5Cevil.test",
        "https://example.com/r?u=/%5Cevil.test",
        "https://example.com/r?u=https:evil.test",
        "https://example.com/r?u=javascript:alert(1)",
        "https://example.com/r?https://evil.test",
        "https://example.com/#/go?u=https://evil.test",
        "https://example.com/r?u=https://127.0.0.1/",
        "https://example.com/r?u=https://example.com@evil.test/",
        "https://example.com/r;next=https://evil.test",
        "https://example.com/r;next=//evil.test",
        "https://example.com/r?a=1;next=//evil.test",
        "https://example.com/r?state={%22u%22:%22https://evil.test%22}",
        "https://example.com/r?state=%7B%22u%22%3A%22https%3A%5C%2F%5C%2Fevil.test%22%7D",
        "https://example.com/r?u=url:https://evil.test",
        "https://example.com/r/https://evil.test/x",
        "https://example.com/r/https:/evil.test/x",
        "https://example.com/r/https%3A%2F%2Fevil.test",
        "https://example.com//evil.com/x",
        "https://example.com/r//evil.com/x",
        "https://example.com/#https://evil.test",
        "https://example.com/#//evil.com",
        "https://example.com/r?u=%20https://evil.test",
        "https://example.com/r?u=ht%0Atps://evil.test",
    ] {
        assert!(leaves(url), "{url}");
    }
}

#[test]
fn paths_and_allowed_hosts_are_no_redirect() {
    for url in [
        "https://example.com/r?next=/account",
        "https://example.com/r?redirect_to=https://app.example.com/welcome",
        "https://example.com/r?time=12:30&token=a:b",
        "https://example.com/files//a/b",
        "https://example.com/r?app=myapp://callback",
        "https://example.com/verify/a.b.c?data=x",
    ] {
        assert!(!leaves(url), "{url}");
    }
}

#[test]
fn target_without_a_scheme_is_found_where_one_is_taken() {
    for url in [
        "https://example.com/r?url=evil.com/x",
        "https://example.com/r?url=evil.com",
        "https://example.com/r?url=www.evil.com",
        "https://example.com/r?url=evil.com:443",
        "https://example.com/r?url=evil%2Ecom",
        "https://example.com/r?url=evil%E3%80%82com",
        "https://example.com/r?url=%EF%BC%8F%EF%BC%8Fevil.com",
        "https://example.com/r?URL=%20evil.com",
        "https://example.com/r?redirect%5Burl%5D=evil.com",
        "https://example.com/r?redirect_to=evil.com",
        "https://example.com/r?returnTo=evil.co.uk",
        "https://example.com/r?u=://evil.com",
        "https://example.com/redirect?evil.com",
        "https://example.com/out/?www.evil.com",
        "https://example.com/r?state=%7B%22u%22%3A%22%5Cu0068ttps%3A%5Cu002f%5Cu002Fevil.com%22%7D",
        "https://example.com/r?next=127.0.0.1",
        "https://example.com/r?next=[::1]",
        "https://example.com/r?u=evil.com/x",
        "https://example.com/l.php?u=www.evil.com",
        "https://example.com/r?next=@evil.com",
        "https://example.com/r?next=%40evil.com",
        "https://example.com/r?next=.evil.com",
        "https://example.com/r?next=:80@evil.com",
        "https://example.com/r?next=x@evil.com/",
        "https://example.com/r?next=-evil.com",
        "https://example.com/r;next=evil.com",
        "https://example.com/r?x=1;next=evil.com",
        "https://example.com/r?continue=/login?next=evil.com",
        "https://example.com/r?continue=/login%3Fnext%3Devil.com",
        "https://example.com/r?state={%22next%22:%20%22evil.com%22}",
        "https://example.com/#/redirect?to=evil.com/x",
        "https://example.com/#url=evil.com",
        "https://example.com/amp/s/evil.com/x",
        "https://example.com/redirect/evil.com",
        "https://example.com/redirect.php/evil.com",
        "https://example.com/redirect/https/evil.com",
        "https://example.com/out/www.evil.com",
        "https://example.com/r/evil.com/x",
        "https://example.com/#!/go/evil.com",
    ] {
        assert!(leaves(url), "{url}");
    }
}

#[test]
fn encoded_target_is_found() {
    for url in [
        // https://evil.com/
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8",
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8=",
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8%3D",
        "https://example.com/aHR0cHM6Ly9ldmlsLmNvbS8",
        "https://example.com/#/aHR0cHM6Ly9ldmlsLmNvbS8",
        "https://example.com/r?v1.aHR0cHM6Ly9ldmlsLmNvbS8.a1b2c3d4",
        "https://example.com/r?x=68747470733a2f2f6576696c2e636f6d2f",
        // The same, encoded twice.
        "https://example.com/r?x=YUhSMGNITTZMeTlsZG1sc0xtTnZiUzg9",
        // https%3A%2F%2Fevil.com
        "https://example.com/r?x=aHR0cHMlM0ElMkYlMkZldmlsLmNvbQ",
        // https://evil.com/?a>b~~, whose Base64 differs by alphabet
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8/YT5ifn4",
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8_YT5ifn4",
        // //evil.com, evil.com/x and evil.com
        "https://example.com/r?x=Ly9ldmlsLmNvbQ",
        "https://example.com/r?url=ZXZpbC5jb20veA",
        "https://example.com/redirect/ZXZpbC5jb20",
        // {"r":"https://evil.com"}, and a token with {"redirect_uri":"https://evil.com"}
        "https://example.com/r?state=eyJyIjoiaHR0cHM6Ly9ldmlsLmNvbSJ9",
        "https://example.com/r?t=eyJhbGciOiJIUzI1NiJ9.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuY29tIn0.c2ln",
        // Bytes with https://evil.com/x between them, as a tracker writes them
        "https://example.com/f/a/RgRmtiaeP0QdaHR0cHM6Ly9ldmlsLmNvbS94VwVzcGNldUIK_wBqYW5lQGV4YW1wbGUub3Jn",
        // javascript:alert(1)
        "https://example.com/r?x=amF2YXNjcmlwdDphbGVydCgxKQ",
    ] {
        assert!(leaves(url), "{url}");
    }
}

#[test]
fn host_behind_an_allowed_one_is_found() {
    for url in [
        "https://example.com/r?u=https://example.com%26@evil.com/",
        "https://example.com/r?u=https://example.com,@evil.com/",
        "https://example.com/r?u=https://example.com%20@evil.com/",
        "https://example.com/r?u=https://example.com%zz@evil.com/",
        "https://example.com/r?u=https://example.com%22@evil.com/",
        "https://example.com/r?u=https://example.com(@evil.com/",
        "https://example.com/r?u=https://example.com,.evil.com/",
        "https://example.com/r?u=https://example.com%26.evil.com/",
        "https://example.com/r/https://example.com&@evil.com/",
        "https://example.com/#/r/https://example.com&@evil.com/",
    ] {
        assert!(leaves(url), "{url}");
    }
}

#[test]
fn value_that_sends_nobody_elsewhere_is_no_redirect() {
    for url in [
        "https://example.com/v?email=jane@example.org",
        "https://example.com/v?return_email=jane@example.org",
        "https://example.com/v?to=jane@example.org",
        "https://example.com/v?u=jane.doe&site=shop.example.org",
        "https://example.com/v?domain=example.org",
        "https://example.com/v?file=report.pdf",
        "https://example.com/v?next=report.pdf",
        "https://example.com/v?next=/redirect/home",
        "https://example.com/v?return_to=/account/shop.example.org",
        "https://example.com/v?version=1.2.3.4&build=2.app",
        "https://example.com/v?next=42",
        "https://example.com/v?url=app.example.com/welcome",
        "https://example.com/v?next=https://example.com&email=jane@example.org",
        "https://example.com/v?state={%22u%22:%22https://example.com%22,%22m%22:%22a@b.org%22}",
        "https://example.com/verify/example.org/x",
        "https://example.com/verify?example.org",
        "https://example.com/u/jane.doe",
        "https://example.com/v?t=Zk3v9QmB7tY1abcdZk3v9QmB7tY1abcd",
        "https://example.com/v?t=4f8a1c9e2b7d4f8a1c9e2b7d4f8a1c9e2b7d4f8a",
        // Bytes with https://app.example.com and jane@example.org between them
        "https://example.com/f/a/RgRmtiaeP0QdaHR0cHM6Ly9hcHAuZXhhbXBsZS5jb20Fc3BjZXVCCv8AamFuZUBleGFtcGxlLm9yZw",
        // https://okay
        "https://example.com/w?x=aHR0cHM6Ly9va2F5",
        // jane@example.org, example.org
        "https://example.com/v?e=amFuZUBleGFtcGxlLm9yZw==",
        "https://example.com/v?shop=ZXhhbXBsZS5vcmc",
        // A token of {"iss":"https://id.example.org"}
        "https://example.com/v?t=eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIn0.c2ln",
        // A token of {"redirect_uri":"https://app.example.com"}
        "https://example.com/v?t=eyJhbGciOiJIUzI1NiJ9.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2FwcC5leGFtcGxlLmNvbSJ9.c2ln",
    ] {
        assert!(!leaves(url), "{url}");
    }
}
