// One request after another to a server, each awaited: what is asked of it before and after a load. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "client/connection.h"
#include "client/protocol.h"
#include "client/server_url.h"

namespace ridge::client {

class Exchange {
 public:
  // Errors: no such host; no connection to any of its addresses.
  static Result<Exchange> open(const ServerUrl& url, Nanoseconds timeout);

  // Answers of any status. Errors: the connection ends, no answer in time, another protocol.
  Result<Response> ask(const Request& request);
  // The JSON of an answer of status 200; another status is an error, with code_of_status().
  Result<Json> ask(MetadataRequest question);

  void choose(std::string model) { url_.model = std::move(model); }  // as in a URL's path
  void limit(Nanoseconds timeout) { timeout_ = timeout; }            // of each answer from now on
  const ServerUrl& url() const { return url_; }
  const Protocol& protocol() const { return *protocol_; }
  const Address& address() const { return address_; }
  // The server runs on this machine: both ends of the connection have the same address.
  bool on_this_machine() const { return on_this_machine_; }

 private:
  Exchange(ServerUrl url, Nanoseconds timeout)
      : url_(std::move(url)), protocol_(&protocol_of(url_.scheme)), timeout_(timeout) {}
  Status connect(const Address& address);
  Status await(Connection::State state);

  ServerUrl url_;
  const Protocol* protocol_;
  Nanoseconds timeout_;
  Address address_;
  bool on_this_machine_ = false;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace ridge::client
