//! From what was typed about gRPC to the requests of a plan.

use httperf_plan::{Body, Grpc, Header, ListedRequest, NonEmpty, Plan, PlanFields, Template, UriSource};
use httperf_proto::grpc::{COMPRESSION, MEDIA_TYPE, frame, timeout};

use crate::args::{Args, GrpcMethod};
use crate::grpc::{self, Calls, GrpcError};

/// The field that names the compressions of replies that are understood.
const ACCEPT: &str = "grpc-accept-encoding";

/// The header fields of calls, besides metadata.
///
/// <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests>
pub(super) fn headers(args: &Args) -> Vec<Header> {
    if args.grpc.method.is_none() {
        return Vec::new();
    }
    let field = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: Template::literal(value.as_bytes()),
    };
    let mut fields = vec![field("Content-Type", MEDIA_TYPE), field("TE", "trailers")];
    if !args.material.headers.iter().any(|header| header.is(ACCEPT)) {
        fields.push(field(ACCEPT, COMPRESSION));
    }
    fields.extend(args.grpc.deadline.map(|deadline| field("grpc-timeout", &timeout(deadline))));
    fields
}

/// Gives the requests of a plan their messages.
pub(super) fn complete(args: &Args, method: &GrpcMethod, plan: Plan) -> Result<Plan, super::Error> {
    let servers = plan.targets.len();
    let Calls { messages, server_streams } = grpc::calls(args, method, &plan)?;
    let mut bodies = Vec::with_capacity(messages.len());
    for message in &messages {
        if u32::try_from(message.len()).is_err() {
            return Err(GrpcError::TooLarge(if args.grpc.raw.is_some() {
                "--grpc-raw"
            } else {
                "--grpc-data"
            })
            .into());
        }
        let mut framed = Vec::new();
        frame(message, &mut framed);
        bodies.push(Body::text(Template::literal(&framed)));
    }
    if bodies.len() > 1 && servers > 1 {
        return Err(GrpcError::Servers(bodies.len()).into());
    }
    Ok(plan.edit(|plan| {
        plan.replies.streams.grpc = Some(Grpc { server_streams });
        send(plan, bodies);
    })?)
}

fn send(plan: &mut PlanFields, mut bodies: Vec<Body>) {
    if bodies.len() == 1 {
        plan.request.body = bodies.pop();
        return;
    }
    let uri = match &plan.uris {
        UriSource::Fixed(uri) => Template::literal(uri),
        other => unreachable!("a method is one path: {other:?}"),
    };
    let request = |body| ListedRequest {
        server: 0,
        method: plan.request.method.clone(),
        uri: uri.clone(),
        headers: Vec::new(),
        body: Some(body),
    };
    let requests: Vec<ListedRequest> = bodies.into_iter().map(request).collect();
    plan.uris = UriSource::Requests(NonEmpty::try_from(requests).expect("there is more than one"));
}
