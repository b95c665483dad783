use std::net::SocketAddr;

use actix_web::dev::Service;
use actix_web::{App, HttpResponse, HttpServer, web};
use testkit::own_port::OwnPort;

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What the client reads until the server closes the connection.
async fn answer(connection: &mut TcpStream) -> std::io::Result<String> {
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn connection_that_was_not_accepted_gets_503_and_the_next_is_refused() {
    let (mut connections, bound) = Connections::bind("127.0.0.1:0").unwrap();
    let address = bound[0].local_addr().unwrap();
    let mut waiting = TcpStream::connect(address).await.unwrap();
    waiting.write_all(REQUEST).await.unwrap();
    // The server is gone.
    drop(bound);
    let closing = CancellationToken::new();
    closing.cancel();
    let closed = turn_all_away(connections.listeners.remove(0), closing);
    let closed = tokio::spawn(closed);
    let answer = answer(&mut waiting).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(waiting);
    closed.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

/// A client that makes connections one after the other until one is refused. Each that
/// was made must get its answer.
async fn connect_again_and_again(address: SocketAddr, all: Arc<AtomicUsize>) {
    let mut made = 0;
    while let Ok(Ok(mut connection)) = timeout(CLOSING, TcpStream::connect(address)).await {
        made += 1;
        all.fetch_add(1, Ordering::Relaxed);
        let sent = connection.write_all(REQUEST).await;
        let answer = answer(&mut connection).await;
        let answer = sent
            .and(answer)
            .unwrap_or_else(|cut| panic!("{made}: {cut}"));
        assert!(answer.starts_with("HTTP/1.1 503 "), "{made}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_made_while_the_socket_closes_are_answered_or_refused() {
    for _ in 0..20 {
        let (mut connections, bound) = Connections::bind("127.0.0.1:0").unwrap();
        let address = bound[0].local_addr().unwrap();
        drop(bound);
        let closing = CancellationToken::new();
        let listener = connections.listeners.remove(0);
        let closed = tokio::spawn(turn_all_away(listener, closing.clone()));
        let made = Arc::new(AtomicUsize::new(0));
        let clients: JoinSet<()> = (0..16)
            .map(|_| connect_again_and_again(address, Arc::clone(&made)))
            .collect();
        testkit::wait::until("a connection is made", || async {
            (made.load(Ordering::Relaxed) > 0).then_some(())
        })
        .await;
        closing.cancel();
        clients.join_all().await;
        closed.await.unwrap().unwrap();
    }
}

/// Waits until the server has accepted so many connections.
async fn until_accepted(connections: &Connections, count: usize) {
    let open = &connections.activity.open;
    testkit::wait::until("connections are accepted", || async {
        (open.load(Ordering::Relaxed) == count).then_some(())
    })
    .await;
}

/// A server whose answers close their connection, as those of a process that stops do.
fn stopping_server(connections: &Connections, bound: Vec<TcpListener>) -> ServerHandle {
    let activity = connections.activity();
    let mut server = HttpServer::new(move || {
        let activity = Arc::clone(&activity);
        App::new()
            .wrap_fn(move |request, service| {
                let (busy, answer) = (activity.begin(), service.call(request));
                async move {
                    let answer = answer.await;
                    drop(busy);
                    answer
                }
            })
            .default_service(web::to(|| async {
                HttpResponse::Ok().force_close().finish()
            }))
    })
    .on_connect(connections.counter())
    .workers(1)
    .disable_signals();
    for listener in bound {
        server = server.listen(listener).unwrap();
    }
    let server = server.run();
    let handle = server.handle();
    tokio::spawn(server);
    handle
}

#[tokio::test]
async fn kept_connections_are_answered_as_long_as_their_clients_send_requests() {
    let port = OwnPort::take();
    let address = port.address;
    let (connections, bound) = Connections::bind(&address.to_string()).unwrap();
    let server = stopping_server(&connections, bound);
    let mut kept = Vec::new();
    for _ in 0..6 {
        kept.push(TcpStream::connect(address).await.unwrap());
    }
    until_accepted(&connections, kept.len()).await;
    let stopped = tokio::spawn(async move { connections.stop(&server).await });
    for (place, mut connection) in kept.into_iter().enumerate() {
        sleep(SILENCE / 2).await;
        connection.write_all(REQUEST).await.unwrap();
        let answer = answer(&mut connection).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{place}: {answer:?}");
    }
    stopped.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
    drop(port.listen(1).await);
}

#[tokio::test]
async fn silent_connections_delay_a_stop_by_seconds_only() {
    let (connections, bound) = Connections::bind("127.0.0.1:0").unwrap();
    let address = bound[0].local_addr().unwrap();
    let server = stopping_server(&connections, bound);
    let mut silent = TcpStream::connect(address).await.unwrap();
    until_accepted(&connections, 1).await;
    let began = Instant::now();
    connections.stop(&server).await;
    assert_eq!(answer(&mut silent).await.unwrap(), "");
    assert!(began.elapsed() < LAST_REQUESTS, "{:?}", began.elapsed());
}
