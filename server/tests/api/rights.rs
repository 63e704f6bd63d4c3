//! Who may do what: every operation of the document, asked for by everybody.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use stint_core::units::Seconds;

use crate::house::{House, PERIOD};

const PEOPLE: [&str; 7] = ["mona", "ada", "rex", "lin", "otto", "olga", "nobody"];

/// Operation, address, body, and the status for each of [`PEOPLE`].
///
/// `w-1` is rex's, of the team vision. mona manages the institute, ada research, rex and lin work in vision and
/// language, otto is on call, olga runs the platform, nobody is not signed in.
const MATRIX: &str = "
getMe             GET    /api/v1/me                                 200 200 200 200 200 200 401
listPeriods       GET    /api/v1/periods                            200 200 200 200 200 200 401
listNodes         GET    /api/v1/nodes                              200 200 200 200 200 200 401
getBudgetTree     GET    /api/v1/budgets/2026-Q4/tree               200 200 200 200 200 200 401
setBudget         PUT    /api/v1/budgets/2026-Q4/nodes/vision       428 428 403 403 403 403 401
setBudget         PUT    /api/v1/budgets/2026-Q4/nodes/research     428 403 403 403 403 403 401
transfer          POST   /api/v1/budgets/2026-Q4/transfers          409 409 403 403 403 403 401
listWorkloads     GET    /api/v1/workloads                          200 200 200 200 200 200 401
submitWorkload    POST   /api/v1/workloads                          403 403 422 403 403 403 401
getWorkload       GET    /api/v1/workloads/w-1                      200 200 200 404 200 200 401
cancelWorkload    DELETE /api/v1/workloads/w-2                      404 404 404 404 404 404 401
cancelWorkload    DELETE /api/v1/workloads/w-1                      202 202 202 404 403 403 401
listDecisions     GET    /api/v1/workloads/w-1/decisions            200 200 200 404 200 200 401
listQueue         GET    /api/v1/queue                              200 200 200 200 200 200 401
listQueueCsv      GET    /api/v1/queue.csv                          200 200 200 200 200 200 401
listStanding      GET    /api/v1/standing                           200 200 200 200 200 200 401
listHosts         GET    /api/v1/hosts                              200 200 200 200 200 200 401
getPool           GET    /api/v1/pool                               200 200 200 200 200 200 200
openapi           GET    /api/v1/openapi.json                       200 200 200 200 200 200 200
healthz           GET    /healthz                                   200 200 200 200 200 200 200
readyz            GET    /readyz                                    200 200 200 200 200 200 200
";

fn body(operation: &str) -> String {
    match operation {
        "setBudget" => json!({"pool": "h100", "granted_gpu_seconds": 1, "reason": "r"}).to_string(),
        // More than there is, so that whoever may move is told so and nothing changes for the next one.
        "transfer" => json!({
            "pool": "h100", "from": "vision", "to": "language", "amount_gpu_seconds": 90_000_000, "reason": "r"
        })
        .to_string(),
        "submitWorkload" => json!({"name": "", "charged_to": "vision", "gpus": 1, "min_runtime_s": 0}).to_string(),
        _ => String::new(),
    }
}

#[tokio::test]
async fn every_operation_answers_everybody_as_the_table_says() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    assert_eq!(house.person("rex").submit(&json!({})).await.status, 201);
    house.pass(&mut engine, Seconds(1)).await;
    for line in MATRIX.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (operation, method, path, wanted) = (words[0], words[1], words[2], &words[3..]);
        for (who, wanted) in PEOPLE.iter().zip(wanted) {
            let actor = if *who == "nobody" {
                house.stranger()
            } else {
                house.person(who)
            };
            let method: Method = method.parse().unwrap();
            let headers = [("content-type", "application/json"), ("idempotency-key", *who)];
            let answer = actor
                .send(method, path, &headers, Body::from(body(operation)))
                .await;
            assert_eq!(
                answer.status.to_string(),
                *wanted,
                "{who}: {line}\n{}",
                answer.text
            );
        }
    }
}

#[test]
fn every_operation_of_the_document_is_in_the_table() {
    let document = serde_json::to_value(stint_server::api::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let documented: BTreeSet<&str> = paths
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
        .filter_map(|operation| operation["operationId"].as_str())
        .collect();
    let listed: BTreeSet<&str> = MATRIX
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(documented, listed);
}

#[tokio::test]
async fn who_left_is_nobody() {
    let house = House::new().await;
    house
        .person("gone")
        .get("/api/v1/me")
        .await
        .refused(401, "auth/required");
    house
        .person("gone")
        .get(&format!("/api/v1/budgets/{PERIOD}/tree"))
        .await
        .refused(401, "auth/required");
}

#[tokio::test]
async fn a_manager_moves_hours_between_nodes_below_their_own_and_no_others() {
    let house = House::new().await;
    let ada = house.person("ada");
    assert_eq!(
        ada.transfer("a", "vision", "language", &json!(3_600))
            .await
            .status,
        201
    );
    ada.transfer("b", "vision", "robots", &json!(3_600))
        .await
        .refused(403, "auth/forbidden");
    ada.transfer("c", "lab", "vision", &json!(3_600))
        .await
        .refused(403, "auth/forbidden");
    assert_eq!(ada.budget("vision").await["may_move"], true);
    assert_eq!(ada.budget("robots").await["may_move"], false);
    assert_eq!(ada.budget("lab").await["mine"], true);
    assert_eq!(ada.budget("robots").await["mine"], false);
    assert_eq!(house.person("rex").budget("vision").await["may_move"], false);
}
