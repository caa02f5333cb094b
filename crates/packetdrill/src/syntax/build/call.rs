//! System calls.

use super::{Builder, Node};
use crate::syntax::error::ScriptError;
use crate::syntax::parser::Rule;
use crate::syntax::{Call, Expression};

/// The system calls of the language.
const CALLS: &[&str] = &[
    "accept",
    "bind",
    "cap_set",
    "close",
    "connect",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "open",
    "pipe",
    "poll",
    "psp_rx_assoc",
    "psp_tx_assoc",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "splice",
    "write",
    "writev",
];

impl Builder<'_> {
    pub(super) fn call(&self, node: Node<'_>) -> Result<Call, ScriptError> {
        let mut call = Call {
            name: String::new(),
            arguments: Vec::new(),
            result: Expression::Ellipsis,
            errno: None,
            note: None,
            until: None,
        };
        for part in node.into_inner() {
            match part.as_rule() {
                Rule::until => {
                    let time = part.into_inner().find(|part| part.as_rule() == Rule::time);
                    call.until = time.map(|time| self.time(&time)).transpose()?;
                }
                Rule::call_name => {
                    call.name = part.as_str().to_owned();
                    if !CALLS.contains(&call.name.as_str()) {
                        let message = format!("unknown system call `{}`; known are {}", call.name, CALLS.join(", "));
                        return Err(self.error(&part, message));
                    }
                }
                Rule::arguments => call.arguments = self.expressions(part)?,
                Rule::expression => call.result = self.expression(part)?,
                Rule::errno => call.errno = Some(part.as_str().to_owned()),
                Rule::note => call.note = Some(part.as_str().trim_matches(['(', ')']).to_owned()),
                _ => {}
            }
        }
        Ok(call)
    }
}
