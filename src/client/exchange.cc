#include "client/exchange.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

constexpr size_t kMostBody = 64 << 20;  // [bytes] kept of an answer

}  // namespace

Result<Exchange> Exchange::open(const ServerUrl& url, Nanoseconds timeout) {
  RIDGE_ASSIGN(const std::vector<Address> addresses, resolve(url.host, url.port));
  Exchange exchange(url, timeout);
  RIDGE_ASSIGN(Poller poller, Poller::open());
  exchange.poller_ = std::make_unique<Poller>(std::move(poller));
  Status last = Error{Code::kUnavailable, "the host has no address"};
  for (const Address& address : addresses) {
    last = exchange.connect(address);
    if (last) return exchange;
  }
  return wrap(last.error(), "connect to " + host_and_port(url));
}

Status Exchange::connect(const Address& address) {
  address_ = address;
  connection_ = std::make_unique<Connection>(*poller_, 0, address, protocol_->wire(url_, {kMostBody, kMostBody}));
  if (Status connected = await(connection_->connect()); !connected) return wrap(connected.error(), text_of(address));
  on_this_machine_ = connection_->to_this_machine();
  return {};
}

Status Exchange::await(Connection::State state) {
  const TimePoint until = SteadyClock::now() + timeout_;
  while (state != Connection::State::kDone) {
    if (state == Connection::State::kFailed) return Error{Code::kUnavailable, connection_->problem()};
    for (const Poller::Change& change : poller_->wait(until)) state = connection_->advance(change.hung_up);
    if (state == Connection::State::kInFlight && SteadyClock::now() >= until) {
      connection_->close();
      return Error{Code::kTimeout, fmt::format("no answer within {:.4g} ms", to_ms(timeout_))};
    }
  }
  return {};
}

Result<Response> Exchange::ask(const Request& request) {
  for (const Poller::Change& change : poller_->wait(SteadyClock::now())) connection_->advance(change.hung_up);
  const bool reused = connection_->connected();
  Status done = await(connection_->send(request));
  // A server may close an idle connection at the moment in which a request is sent.
  if (!done && reused && connection_->failure() == kClosed) done = await(connection_->send(request));
  if (!done) return done.error();
  return connection_->response();
}

Result<Json> Exchange::ask(MetadataRequest question) {
  const std::string what = protocol_->text_of(url_, question);
  const Result<Response> answer = ask(protocol_->request(url_, question));
  if (!answer) return wrap(answer.error(), what);
  if (answer->status != 200) {
    const Code code = code_of_status(answer->status);
    return Error{code == Code::kNotFound ? code : Code::kUnavailable,
                 fmt::format("{}: {} {}", what, failure_name(answer->status), error_text(*answer))};
  }
  Result<Json> json = protocol_->read(question, *answer);
  if (!json) return Error{Code::kFailed, fmt::format("{}: {}", what, json.error().message)};
  return json;
}

}  // namespace ridge::client
