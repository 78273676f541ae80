#include "front/grpc/watch_call.h"

#include <optional>
#include <utility>

#include "front/grpc/message_coding.h"
#include "front/grpc/message_to_send.h"
#include "front/grpc/reflection.h"
#include "health.pb.h"
#include "serve/server.h"

namespace ridge::front::grpc {
namespace {

constexpr uint64_t kLongestQuestion = 64 * 1024;  // [bytes]

class HealthWatch final : public Exchange {
 public:
  explicit HealthWatch(Call& call) : call_(call) {}
  ~HealthWatch() override = default;

  void begin() override {
    if (call_.loop().draining()) return call_.finish(serve::shutting_down());
    call_.read();
  }
  void received(bool ok) override {
    if (!ok) return call_.finish(invalid("the call has no message"));
    call_.loop().watch(1);
    watches_ = true;
    tell();
  }
  void written() override {
    writing_ = false;
    tell();
  }
  void tick() override { tell(); }
  void cancelled() override { stop_watching(); }
  void begin_drain() override {
    stop_watching();
    call_.finish(serve::shutting_down());
  }

 private:
  void stop_watching() {
    if (std::exchange(watches_, false)) call_.loop().watch(-1);
  }
  void tell() {
    const bool ready = call_.loop().shared().service.ready();
    if (!watches_ || writing_ || ready == told_) return;
    told_ = ready;
    writing_ = true;
    using Response = ::grpc::health::v1::HealthCheckResponse;
    Response response;
    response.set_status(ready ? Response::SERVING : Response::NOT_SERVING);
    call_.write(message_of(response.SerializeAsString()));
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
    if (call_.loop().draining()) return call_.finish(serve::shutting_down());
    call_.read();
  }
  void received(bool ok) override {
    if (!ok) return call_.finish({});
    Result<std::string> answer = answer_question();
    if (!answer) return call_.finish(std::move(answer).error());
    call_.write(message_of(*answer));
  }
  void written() override { call_.loop().draining() ? call_.finish(serve::shutting_down()) : call_.read(); }
  void begin_drain() override { call_.finish(serve::shutting_down()); }

 private:
  Result<std::string> answer_question() {
    RIDGE_ASSIGN(MessageBytes message, call_.take_message());
    if (message.size > kLongestQuestion) return invalid("the question is too long");
    if (const std::optional<Coding> coding = coding_of(message)) {
      RIDGE_ASSIGN(message, unpacked(message, *coding, {kLongestQuestion}, call_.loop().shared().bodies));
    }
    return answer_reflection(message);
  }

  Call& call_;
};

}  // namespace

std::unique_ptr<Exchange> health_watch_exchange(Call& call) { return std::make_unique<HealthWatch>(call); }
std::unique_ptr<Exchange> reflection_exchange(Call& call) { return std::make_unique<ReflectionExchange>(call); }

}  // namespace ridge::front::grpc
