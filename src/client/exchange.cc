#include "client/exchange.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

constexpr size_t kMostBody = 64 << 20;  // [bytes] kept of an answer

}  // namespace

std::string http_request(const ServerUrl& url, std::string_view method, std::string_view path, std::string_view body,
                         std::string_view fields) {
  const bool has_body = !body.empty() || method != "GET";
  const std::string length = has_body ? fmt::format("Content-Length: {}\r\n", body.size()) : "";
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: ridge/" RIDGE_VERSION "\r\n{}{}\r\n",
                                    method, path, host_and_port(url), length, fields);
  return request.append(body);
}

std::string error_text(const Response& response) {
  if (const Result<Json> json = parse_json(response.body, "answer"); json && json->is_object())
    if (const Result<std::string> text = json_member<std::string>(*json, "error"); text && !text->empty()) return *text;
  const std::string line = response.body.substr(0, std::min<size_t>(response.body.find('\n'), 200));
  return line.empty() ? fmt::format("status {}", response.status) : line;
}

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
  connection_ = std::make_unique<Connection>(*poller_, 0, address, ResponseParser::Keep{kMostBody, kMostBody});
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

Result<Response> Exchange::ask(std::string_view request) {
  for (const Poller::Change& change : poller_->wait(SteadyClock::now())) connection_->advance(change.hung_up);
  const bool reused = connection_->connected();
  Status done = await(connection_->send(request));
  // A server may close an idle connection at the moment in which a request is sent.
  if (!done && reused && connection_->failure() == kClosed) done = await(connection_->send(request));
  if (!done) return done.error();
  return connection_->response();
}

Result<Json> Exchange::get(std::string_view path) {
  const std::string what = fmt::format("GET http://{}{}", host_and_port(url_), path);
  const Result<Response> answer = ask(http_request(url_, "GET", path));
  if (!answer) return wrap(answer.error(), what);
  if (answer->status != 200)
    return Error{answer->status == 404 ? Code::kNotFound : Code::kUnavailable,
                 fmt::format("{}: {} {}", what, answer->status, error_text(*answer))};
  Result<Json> json = parse_json(answer->body, "the answer to " + what);
  if (!json) return Error{Code::kFailed, json.error().message};
  return json;
}

}  // namespace ridge::client
