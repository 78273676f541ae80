#include "front/grpc/watch_call.h"

#include <optional>
#include <utility>

#include "front/grpc/message_coding.h"
#include "front/grpc/reflection.h"
#include "health.pb.h"
#include "serve/server.h"

namespace ridge::front::grpc {
namespace {

constexpr uint64_t kLongestQuestion = 64 * 1024;  // [bytes]

class HealthWatch final : public Exchange {
 public:
  explicit HealthWatch(Call& call) : call_(call) {}

  void begin() override {
    if (call_.draining()) return call_.finish(serve::shutting_down());
    call_.read();
  }
  void received(bool ok) override {
    if (!ok) return call_.finish(invalid("the call has no message"));
    call_.take_message();
    watches_ = true;
    tell();
  }
  void written() override {
    writing_ = false;
    tell();
  }
  void tick() override { tell(); }
  void begin_drain() override { call_.finish(serve::shutting_down()); }

 private:
  void tell() {
    const bool ready = call_.api().service.ready();
    if (!watches_ || writing_ || ready == told_) return;
    told_ = ready;
    writing_ = true;
    using Response = ::grpc::health::v1::HealthCheckResponse;
    Response response;
    response.set_status(ready ? Response::SERVING : Response::NOT_SERVING);
    call_.write({{.text = response.SerializeAsString()}});
  }

  Call& call_;
  bool watches_ = false, writing_ = false;
  std::optional<bool> told_;
};

// One question, one answer, as often as the client asks.
class ReflectionExchange final : public Exchange {
 public:
  explicit ReflectionExchange(Call& call) : call_(call) {}

  void begin() override {
    if (call_.draining()) return call_.finish(serve::shutting_down());
    call_.limit_messages(kLongestQuestion);
    call_.read();
  }
  void received(bool ok) override {
    if (!ok) return call_.finish({});
    Result<std::string> answer = answer_question();
    if (!answer) return call_.finish(std::move(answer).error());
    call_.write({{.text = std::move(*answer)}});
  }
  void written() override { call_.draining() ? call_.finish(serve::shutting_down()) : call_.read(); }
  void begin_drain() override { call_.finish(serve::shutting_down()); }
  bool waits_for_ever() const override { return true; }

 private:
  Result<std::string> answer_question() {
    MessageBytes message = call_.take_message();
    if (message.packed) {
      RIDGE_ASSIGN(message, unpacked(message, call_.coding(), {kLongestQuestion}, call_.api().bodies));
    }
    return answer_reflection(message);
  }

  Call& call_;
};

}  // namespace

std::unique_ptr<Exchange> health_watch_exchange(Call& call) { return std::make_unique<HealthWatch>(call); }
std::unique_ptr<Exchange> reflection_exchange(Call& call) { return std::make_unique<ReflectionExchange>(call); }

}  // namespace ridge::front::grpc
