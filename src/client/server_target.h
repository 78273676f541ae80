// A server under load: many connections that few threads drive, as measure::run_load asks it to.
//
// Each caller has a connection of its own, kept open. One that the server closes is opened again for the next request.
// What fails is counted by kind, with the first message of each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "client/answer_reader.h"
#include "client/connection.h"
#include "client/protocol.h"
#include "measure/load.h"

namespace ridge::client {

struct ServerTargetOptions {
  ServerUrl url;
  Address address;                                       // of its host
  std::shared_ptr<const std::vector<Request>> requests;  // sent in turn; not empty, unless there is `make`
  // The request of a number, in place of `requests`; the numbers of one thread begin with its own and are `threads`
  // apart. Thread-safe.
  std::function<Request(int64_t number)> make;
  // Makes a reader of HTTP answers for each connection of a thread; may be empty. Called before the load begins.
  std::function<std::unique_ptr<AnswerReader>(int thread)> reader;
  // Judges other answers of status 200 by their beginning: 0, or a Failure and its reason; may be empty.
  std::function<int(const Response& answer, std::string& why)> check;
  int concurrency = 1;
  bool connect_first = true;  // all before the load; else each for its first request
  int threads = 1;
  Nanoseconds gone_after = std::chrono::seconds(1);  // without a connection or an answer
  Nanoseconds timeout = std::chrono::seconds(30);    // of one request, from its sending to the end of its answer
  std::function<bool()> interrupted = [] { return false; };  // asked while the connections are opened
};

class ServerTarget final : public measure::AsyncTarget {
 public:
  // Connects all, but without options.connect_first. Errors: a refused or slow connection, too many, kCancelled.
  static Result<std::unique_ptr<ServerTarget>> open(ServerTargetOptions options);
  ~ServerTarget() override;

  void begin(int caller) override;
  void wait(int thread, TimePoint until, const std::function<void(const Ended&)>& ended) override;

  // No connection could be opened for options.gone_after, and no answer came. Thread-safe.
  bool gone() const;

  // After the load.
  std::map<int, std::string> problems() const;  // the first message of each kind of failure
  int64_t reconnects() const;                   // connections opened again
  uint64_t answer_bytes() const;                // of the last successful answer's body

 private:
  class Group;
  explicit ServerTarget(ServerTargetOptions options);

  ServerTargetOptions options_;
  std::vector<std::unique_ptr<Group>> groups_;  // one per thread
};

}  // namespace ridge::client
