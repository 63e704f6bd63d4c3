//! What the pages ask the server for. Reads only: every change is a form that is posted.
//!
//! A server function is a public endpoint. Each of these takes one of the query types that REST takes too and
//! hands it to the [`Backend`](crate::backend::Backend), which is bound to the person who asks.

use leptos::prelude::*;
use leptos::serde_json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server_fn::codec::{Json, JsonEncoding, Post};
use server_fn::error::{FromServerFnError, ServerFnErrorErr};
use server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::api::fleet::{HostList, PoolView};
use stint_core::api::org::NodeList;
use stint_core::api::queue::{QueuePage, QueueQuery};
use stint_core::api::session::{Me, Shell};
use stint_core::api::standing::{StandingQuery, StandingView};
use stint_core::api::workloads::{WorkloadPage, WorkloadView};
use stint_core::api::{Code, Problem};
use stint_core::id::{PeriodId, PoolId, WorkloadId};

use crate::backend::RefusedForm;

/// The workloads of one's own that the start page lists: more belong on their own page.
pub const OWN_WORKLOADS: u16 = 50;

/// JSON, read as text.
///
/// Resources in the document are read as text too. Were answers read from bytes, the browser would be sent the reader
/// of every type twice.
pub struct JsonText;

impl ContentType for JsonText {
    const CONTENT_TYPE: &'static str = JsonEncoding::CONTENT_TYPE;
}

impl FormatType for JsonText {
    const FORMAT_TYPE: Format = JsonEncoding::FORMAT_TYPE;
}

impl<T: Serialize> Encodes<T> for JsonText {
    type Error = serde_json::Error;

    fn encode(output: &T) -> Result<Bytes, serde_json::Error> {
        JsonEncoding::encode(output)
    }
}

impl<T: DeserializeOwned> Decodes<T> for JsonText {
    type Error = serde_json::Error;

    fn decode(bytes: Bytes) -> Result<T, serde_json::Error> {
        let text = std::str::from_utf8(&bytes).map_err(serde::de::Error::custom)?;
        serde_json::from_str(text)
    }
}

/// A problem on its way through a server function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(transparent)]
pub struct DataError(#[from] pub Problem);

impl FromServerFnError for DataError {
    type Encoder = JsonText;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        let problem = match error {
            ServerFnErrorErr::Request(_) => Problem::new(Code::Timeout, "The server can't be reached."),
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => {
                Problem::new(Code::Validation, "The request could not be read.")
            }
            _ => Problem::new(Code::Internal, "The answer could not be read."),
        };
        Self(problem)
    }
}

/// The answer of a server function.
pub type Answer<T> = Result<T, DataError>;

/// The start page: each part with its own outcome, so that one failure hides nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NowData {
    /// What surrounds the page: who asks, and which period.
    pub shell: Shell,
    /// The workloads of the person who asks; absent when nobody is signed in.
    pub mine: Option<Result<WorkloadPage, Problem>>,
    /// Fair share.
    pub standing: Result<StandingView, Problem>,
    /// The pool as a whole.
    pub pool: Result<PoolView, Problem>,
    /// The budget of the node of the person who asks.
    pub budget: Option<BudgetRow>,
}

/// What a form needs: its key, and what was refused a moment ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormData {
    /// The idempotency key, sent as a hidden field.
    pub key: String,
    /// The form as it was refused.
    pub refused: Option<RefusedForm>,
}

/// What the form for a new workload offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitData {
    /// What surrounds the page: pools, and who asks.
    pub shell: Shell,
    /// The organisation.
    pub nodes: NodeList,
    /// Its key and what was refused.
    pub form: FormData,
}

#[cfg(feature = "ssr")]
mod ask {
    use super::{Code, DataError, FormData, Problem, use_context};
    use crate::backend::{FormKey, SharedBackend};

    /// The backend of this request. Absent only while routes are listed, when nobody asks anything.
    pub(super) fn backend() -> Result<SharedBackend, DataError> {
        use_context::<SharedBackend>().ok_or_else(|| {
            Problem::new(Code::Internal, "No backend is in the context of this request.").into()
        })
    }

    /// What a form needs. Without a key a form sent twice would be done twice, so there is none without.
    pub(super) async fn form(refused: Option<String>) -> Result<FormData, DataError> {
        let FormKey(key) = use_context::<FormKey>()
            .ok_or_else(|| Problem::new(Code::Internal, "No form key is in the context of this request."))?;
        let refused = match refused {
            Some(id) => backend()?.refused_form(id).await?,
            None => None,
        };
        Ok(FormData { key, refused })
    }
}

/// What surrounds every page. A pool or period that does not exist falls back to the first one: the page itself
/// says what is wrong.
#[server(name = ReadShell, prefix = "/_fn", endpoint = "shell", input = Json, output = Post<JsonText>)]
pub async fn shell(pool: Option<PoolId>, period: Option<PeriodId>) -> Answer<Shell> {
    let backend = ask::backend()?;
    match backend.shell(pool.clone(), period.clone()).await {
        Err(problem) if problem.code == Code::NotFound && (pool.is_some() || period.is_some()) => {
            Ok(backend.shell(None, None).await?)
        }
        other => Ok(other?),
    }
}

/// The start page.
#[server(name = ReadNow, prefix = "/_fn", endpoint = "now", input = Json, output = Post<JsonText>)]
pub async fn now(pool: Option<PoolId>, period: Option<PeriodId>) -> Answer<NowData> {
    use stint_core::api::workloads::WorkloadQuery;

    let backend = ask::backend()?;
    let shell = backend.shell(pool, period).await?;
    let pool = Some(shell.pool.clone());
    let mine = if shell.me.is_some() {
        let query = WorkloadQuery {
            mine: true,
            limit: Some(OWN_WORKLOADS),
            ..WorkloadQuery::default()
        };
        Some(backend.workloads(query).await)
    } else {
        None
    };
    let query = StandingQuery {
        pool: pool.clone(),
        node: None,
    };
    let standing = backend.standing(query).await;
    let budget = if shell.me.is_some() {
        let tree = backend.budgets(shell.period.clone(), pool.clone()).await.ok();
        tree.and_then(|tree| {
            tree.rows
                .into_iter()
                .filter(|row| row.mine)
                .max_by_key(|row| row.depth)
        })
    } else {
        None
    };
    Ok(NowData {
        mine,
        standing,
        pool: backend.pool(pool).await,
        budget,
        shell,
    })
}

/// A page of the queue.
#[server(name = ReadQueue, prefix = "/_fn", endpoint = "queue", input = Json, output = Post<JsonText>)]
pub async fn queue(query: QueueQuery) -> Answer<QueuePage> {
    Ok(ask::backend()?.queue(query).await?)
}

/// The organisation, for filters.
#[server(name = ReadNodes, prefix = "/_fn", endpoint = "nodes", input = Json, output = Post<JsonText>)]
pub async fn nodes() -> Answer<NodeList> {
    Ok(ask::backend()?.nodes().await?)
}

/// One workload.
#[server(name = ReadWorkload, prefix = "/_fn", endpoint = "workload", input = Json, output = Post<JsonText>)]
pub async fn workload(id: WorkloadId) -> Answer<WorkloadView> {
    Ok(ask::backend()?.workload(id).await?)
}

/// Fair share.
#[server(name = ReadStanding, prefix = "/_fn", endpoint = "standing", input = Json, output = Post<JsonText>)]
pub async fn standing(query: StandingQuery) -> Answer<StandingView> {
    Ok(ask::backend()?.standing(query).await?)
}

/// The budgets of a period; of the current one if none is named.
#[server(name = ReadBudgets, prefix = "/_fn", endpoint = "budgets", input = Json, output = Post<JsonText>)]
pub async fn budgets(period: Option<PeriodId>, pool: Option<PoolId>) -> Answer<BudgetTree> {
    let backend = ask::backend()?;
    let period = match period {
        Some(period) => period,
        None => backend.shell(pool.clone(), None).await?.period,
    };
    Ok(backend.budgets(period, pool).await?)
}

/// The hosts of a pool.
#[server(name = ReadHosts, prefix = "/_fn", endpoint = "hosts", input = Json, output = Post<JsonText>)]
pub async fn hosts(pool: Option<PoolId>) -> Answer<HostList> {
    Ok(ask::backend()?.hosts(pool).await?)
}

/// The people that may sign in by one click.
#[server(name = ReadSignInChoices, prefix = "/_fn", endpoint = "sign-in-choices", input = Json, output = Post<JsonText>)]
pub async fn sign_in_choices() -> Answer<Vec<Me>> {
    Ok(ask::backend()?.sign_in_choices().await?)
}

/// What a form needs.
#[server(name = ReadForm, prefix = "/_fn", endpoint = "form", input = Json, output = Post<JsonText>)]
pub async fn form(refused: Option<String>) -> Answer<FormData> {
    ask::form(refused).await
}

/// What the form for a new workload offers.
#[server(name = ReadSubmitForm, prefix = "/_fn", endpoint = "submit-form", input = Json, output = Post<JsonText>)]
pub async fn submit_form(pool: Option<PoolId>, refused: Option<String>) -> Answer<SubmitData> {
    let form = ask::form(refused).await?;
    let backend = ask::backend()?;
    Ok(SubmitData {
        shell: backend.shell(pool, None).await?,
        nodes: backend.nodes().await?,
        form,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_its_way_and_a_broken_one_is_a_problem() {
        let problem = DataError(Problem::new(Code::NotFound, "There is no workload w-1."));
        let bytes = FromServerFnError::ser(&problem);
        assert_eq!(DataError::de(bytes), problem);
        let broken = DataError::de(Bytes::from_static(b"\xff<html>"));
        assert_eq!(broken.0.code, Code::Internal);
        assert!(!broken.0.detail.contains("html"), "what arrived is not shown");
    }
}
