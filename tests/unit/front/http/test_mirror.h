// For tests of this folder: a server whose answers repeat the requests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "front/http/server.h"

namespace ridge::front::http {

// Answers with method, target and body. Targets: "/later" answers from another thread, "/held" on request, "/forget"
// never answers, "/big" answers 16 MiB.
class Mirror final : public Handler {
 public:
  SizeLimit body_limit(const Request& head) override {
    return head.target == "/small" ? SizeLimit{1000, "--small"} : SizeLimit{uint64_t{1} << 30};
  }
  void handle(const Request& request, Responder responder) override {
    if (request.target == "/forget") return;
    Response response;
    response.text = std::string(request.target) + "|";
    if (request.body) {
      response.blobs.push_back(request.body->bytes());
      response.owners.push_back(request.body);
    }
    if (request.target == "/big") response.text = std::string(size_t{16} << 20, 'x');
    if (request.target == "/held") {
      MutexLock lock(mutex_);
      held_client_ = request.client;
      held_.emplace(std::move(responder), std::move(response));
      return;
    }
    if (request.target != "/later") return responder.send(std::move(response));
    MutexLock lock(mutex_);
    threads_.emplace_back([responder = std::move(responder), response = std::move(response)]() mutable {
      responder.send(std::move(response));
    });
  }

  void clients_left() override { left_ = true; }
  bool clients_have_left() const { return left_; }

  // Waits for `count` answers of "/later".
  void await_later(size_t count) {
    std::vector<std::jthread> threads;
    while (threads.size() < count) {
      MutexLock lock(mutex_);
      for (std::jthread& thread : threads_) threads.push_back(std::move(thread));
      threads_.clear();
    }
  }

  bool holds() {
    MutexLock lock(mutex_);
    return held_.has_value();
  }
  bool held_client_has_left() {
    MutexLock lock(mutex_);
    return held_client_.stop_requested();
  }
  void let_go() {
    MutexLock lock(mutex_);
    held_->first.send(std::move(held_->second));
    held_.reset();
  }

 private:
  std::atomic<bool> left_ = false;
  Mutex mutex_;
  std::stop_token held_client_ RIDGE_GUARDED_BY(mutex_);
  std::optional<std::pair<Responder, Response>> held_ RIDGE_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ RIDGE_GUARDED_BY(mutex_);
};

inline std::unique_ptr<Server> start(ServerOptions options = {},
                                     std::shared_ptr<Mirror> mirror = std::make_shared<Mirror>()) {
  options.listen.address = "127.0.0.1";
  options.listen.port = 0;
  auto server = Server::start(options, std::move(mirror));
  if (!server) ADD_FAILURE() << server.error().message;
  return std::move(*server);
}

}  // namespace ridge::front::http
