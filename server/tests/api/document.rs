//! The `OpenAPI` document, against the one that was agreed on.

use std::path::Path;

/// Set to anything, the agreed document is written anew.
const REWRITE: &str = "STINT_REWRITE_OPENAPI";

#[test]
fn the_document_is_the_one_that_was_agreed_on() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let mut made = stint_server::api::openapi().to_pretty_json().unwrap();
    made.push('\n');
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let agreed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == agreed,
        "the API changed; if that is meant, run this test with {REWRITE}=1 and commit openapi.json"
    );
}

#[test]
fn every_operation_has_an_id_a_summary_and_a_problem_as_its_default() {
    let document = serde_json::to_value(stint_server::api::openapi()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(operation["operationId"].is_string(), "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
            let problem = &operation["responses"]["default"]["content"]["application/problem+json"];
            let open = path.ends_with('z') || path.ends_with("openapi.json");
            assert!(open || problem["schema"]["$ref"].is_string(), "{method} {path}");
        }
    }
}
