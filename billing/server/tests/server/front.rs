//! The front door: enrolment, deliveries, limits, and who sees what.

use crate::common::{HOUR, batch, delivery, full_hour, lab, slice, store, window};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use schema::wire::{
    Batch, CONTENT_TYPE, DELIVERY_BYTES_MAX, DELIVERY_COMPRESSED_BYTES_MAX, EnrolResponse, Receipt,
};
use server::app::App;
use server::config;
use server::current::Current;
use server::ingest::queue::Queue;
use server::jobs::close::close_dirty;
use server::jobs::rate::rate_dirty;
use server::keyring::Keyring;
use server::metrics::Metrics;
use server::router::router;
use server::secret;
use server::store::Store;
use server::store::keys::{Role, TokenKey};
use std::sync::Arc;
use tower::ServiceExt;

async fn token(store: &Store, role: Role) -> String {
    let token = secret::new("t").expect("random");
    let key = TokenKey { hash: secret::hash(&token), name: String::new(), role, expires_at_ms: i64::MAX };
    store.writer().put_token_key(&key, false, 1).await.expect("stored");
    token
}

/// The service over a fresh database.
fn configuration() -> config::Loaded {
    let directory = lab().data_dir.join("configuration");
    std::fs::create_dir_all(&directory).expect("made");
    let file = directory.join("slicemeter.toml");
    std::fs::write(&file, "billing_zone = \"UTC\"\ncurrency = \"USD\"\n").expect("written");
    config::load(&file).expect("loads")
}

fn app(store: &Store) -> axum::Router {
    let (queue, _writing) = Queue::start(store.writer());
    router(App {
        reader: store.reader(),
        writer: store.writer(),
        queue,
        keyring: Arc::new(Keyring::new(store.reader())),
        metrics: Arc::new(Metrics::new()),
        config: Current::fixed(configuration()),
    })
}

async fn call(app: &axum::Router, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = app.clone().oneshot(request).await.expect("infallible");
    let status = response.status();
    (status, axum::body::to_bytes(response.into_body(), 1 << 24).await.expect("a body").to_vec())
}

async fn enrol(app: &axum::Router, token: &str) -> String {
    let body = format!(r#"{{"join_token":"{token}","cluster":"c","node":"n"}}"#);
    let request = Request::post("/api/v1/enrol").header(header::CONTENT_TYPE, "application/json");
    let (status, body) = call(app, request.body(body.into()).expect("a request")).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice::<EnrolResponse>(&body).expect("an answer").credential
}

fn deliver(credential: &str, body: Vec<u8>) -> Request<Body> {
    Request::post("/api/v1/batches")
        .header(header::AUTHORIZATION, format!("Bearer {credential}"))
        .header(header::CONTENT_TYPE, CONTENT_TYPE)
        .body(body.into())
        .expect("a request")
}

fn get(token: &str, path: &str) -> Request<Body> {
    let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
    request.body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn a_node_enrols_and_its_rows_are_stored_or_kept_with_a_reason() {
    let store = store().await;
    let join = token(&store, Role::Join { backfill: true }).await;
    let app = app(&store);
    let credential = enrol(&app, &join).await;

    let mut bad = batch(5, 0);
    bad.usage = vec![
        slice(Some(0), 0, 60_000, (1, 1), Some(1)),
        slice(Some(0), 0, 60_000, (3, 2), Some(1)), // more than the device
        slice(Some(0), 0, 60_000, (1, 0), Some(1)), // no parts
        slice(Some(99), 0, 60_000, (1, 1), Some(1)), // no such owner
        slice(Some(0), 0, 60_000, (1, 1), Some(60_001)), // busier than time
        slice(Some(0), 890_000, 60_000, (1, 1), Some(1)), // across a quarter hour
        slice(Some(0), 60_000, 0, (1, 1), Some(0)), // empty
    ];
    bad.device_windows = vec![window(0, 60_000, 60_000), window(0, 60_000, 60_001)];
    let foreign = Batch { node: "other".into(), ..batch(5, 1) };
    let (status, body) = call(&app, deliver(&credential, delivery(&[bad, foreign]))).await;
    assert_eq!(status, StatusCode::OK);
    let receipt: Receipt = serde_json::from_slice(&body).expect("a receipt");
    assert_eq!(receipt, Receipt { batches: 1, rows: 2, dead_letters: 8 });
}

#[tokio::test]
async fn what_is_no_delivery_is_refused_with_the_right_status() {
    let store = store().await;
    let join = token(&store, Role::Join { backfill: false }).await;
    let app = app(&store);
    let credential = enrol(&app, &join).await;
    let good = delivery(&[batch(5, 0)]);
    let bomb = zstd::encode_all(&vec![0u8; 2 * DELIVERY_BYTES_MAX][..], 3).expect("encodes");

    let of = |request| async { call(&app, request).await.0 };
    assert_eq!(of(deliver("smc_wrong", good.clone())).await, StatusCode::UNAUTHORIZED);
    assert_eq!(
        of(deliver(&join, good.clone())).await,
        StatusCode::UNAUTHORIZED,
        "a join token delivers nothing"
    );
    assert_eq!(of(deliver(&credential, bomb)).await, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(of(deliver(&credential, b"not zstd".to_vec())).await, StatusCode::BAD_REQUEST);
    let mut long = deliver(&credential, Vec::new());
    long.headers_mut().insert(header::CONTENT_LENGTH, (DELIVERY_COMPRESSED_BYTES_MAX + 1).into());
    assert_eq!(of(long).await, StatusCode::PAYLOAD_TOO_LARGE);
    let mut text = deliver(&credential, good.clone());
    text.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().expect("a value"));
    assert_eq!(of(text).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(of(deliver(&credential, good)).await, StatusCode::OK);
}

#[tokio::test]
async fn a_tenant_sees_only_itself() {
    let store = store().await;
    let join = token(&store, Role::Join { backfill: true }).await;
    let vision = token(&store, Role::Tenant("vision".into())).await;
    let operator = token(&store, Role::Operator).await;
    let app = app(&store);
    let credential = enrol(&app, &join).await;
    let mut batches = full_hour(5);
    for b in &mut batches {
        // Half an hour each: speech owns pod 1, vision pod 0.
        b.usage[0].owner = Some((b.sequence % 2) as u32);
    }
    assert_eq!(call(&app, deliver(&credential, delivery(&batches))).await.0, StatusCode::OK);
    let (config, hour) = (configuration(), schema::window::Window::hour_of(HOUR));
    close_dirty(&store.closer(), &config.cuts(), HOUR + 2, 0).await.expect("closes");
    assert_eq!(rate_dirty(&store, &config, hour).await.expect("rates"), 1);
    assert_eq!(rate_dirty(&store, &config, hour).await.expect("looks"), 0, "nothing is rated twice");
    let month = billing::period::Period::month_of(HOUR, chrono_tz::Tz::UTC).expect("a month");
    let path = |tenant: &str| format!("/api/v1/statements/{tenant}?period={}", month.label());

    let (status, own) = call(&app, get(&vision, &path("vision"))).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&own));
    let foreign = call(&app, get(&vision, &path("speech"))).await;
    let unknown = call(&app, get(&vision, &path("nobody"))).await;
    assert_eq!(foreign.0, StatusCode::NOT_FOUND);
    assert_eq!(foreign, unknown, "another tenant answers as one that doesn't exist");
    assert_eq!(call(&app, get(&operator, &path("speech"))).await.0, StatusCode::OK);
    assert_eq!(call(&app, get(&vision, "/api/v1/devices")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(call(&app, get("none", &path("vision"))).await.0, StatusCode::UNAUTHORIZED);
    let list = call(&app, get(&vision, &format!("/api/v1/statements?period={}", month.label()))).await;
    let list: serde_json::Value = serde_json::from_slice(&list.1).expect("JSON");
    assert_eq!(list["meta"]["total"], 1);
    let page = call(&app, get(&operator, &format!("/?period={}", month.label()))).await;
    assert!(String::from_utf8_lossy(&page.1).contains("speech"));
}
