#include "front/grpc/unary_call.h"

#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "front/control.h"
#include "front/grpc/message_coding.h"
#include "front/grpc/message_to_send.h"

namespace ridge::front::grpc {
namespace {

class UnaryExchange final : public Exchange {
 public:
  UnaryExchange(Call& call, const UnaryMethod& method) : call_(call), method_(method) {}

  // Who may not call does not send.
  void begin() override {
    if (Status allowed = check_client(); !allowed) return call_.finish(allowed);
    call_.read();
  }

  void received(bool ok) override {
    if (!ok) return call_.finish(invalid("the call has no message"));
    Result<MessageBytes> message = call_.take_message();
    if (!message) return call_.finish(std::move(message).error());
    if (method_.longest > 0 && message->size > method_.longest)
      return call_.finish(invalid("the message has " + std::to_string(message->size) + " bytes, this method takes " +
                                  std::to_string(method_.longest)));
    waits_ = true;
    run(job_of(std::move(*message)));
  }
  bool busy() const override { return waits_; }

 private:
  Status check_client() const {
    const Shared& shared = call_.loop().shared();
    if (method_.rights == Rights::kAll) return {};
    const bool local = call_.from_this_machine();
    if (method_.rights == Rights::kRegions) return check_regions_allowed(shared.options.shared_memory, local);
    RIDGE_TRY(check_control_allowed(shared.options.model_control, local));
    return method_.rights == Rights::kLoading ? shared.service.check_control() : Status();
  }

  // It may run when the server is gone; the service is not.
  std::function<void()> job_of(MessageBytes message) {
    Shared& shared = call_.loop().shared();
    const bool local = call_.from_this_machine();
    return [this, call = call_.shared_from_this(), &service = shared.service, options = shared.options, local,
            message = std::move(message)] {
      std::string model;
      answer(*call, {service, options, local, model}, message);
      waits_ = false;
    };
  }

  void answer(Call& call, const UnaryContext& context, const MessageBytes& message) const {
    try {
      Result<std::string> response = answer_plain(context, message);
      call.describe(context.model, "");
      if (response) return call.write_and_finish(message_of(*response));
      call.finish(std::move(response).error());
    } catch (const std::bad_alloc&) {
      call.finish(out_of_memory());
    }
  }

  Result<std::string> answer_plain(const UnaryContext& context, const MessageBytes& message) const {
    const std::optional<Coding> coding = coding_of(message);
    if (!coding) return method_.answer(context, message);
    const uint64_t most = context.options.largest_unpacked;
    const SizeLimit limit =
        method_.longest > 0 && method_.longest < most ? SizeLimit{method_.longest} : SizeLimit{most, kInputSizeOption};
    BodyPool bodies(context.options.memory);
    RIDGE_ASSIGN(MessageBytes plain, unpacked(message, *coding, limit, bodies));
    return method_.answer(context, plain);
  }

  void run(std::function<void()> job) {
    ControlThreads& threads = call_.loop().shared().control;
    if (method_.runs_on == RunsOn::kLoop) return job();
    if (method_.runs_on == RunsOn::kLoads)
      if (std::optional<Error> refused = no_load_is_possible(call_.loop().shared().service))
        return call_.finish(*std::move(refused));
    JobThreads& thread = method_.runs_on == RunsOn::kLoads ? threads.loads : threads.control;
    if (!thread.run(std::move(job))) call_.finish(too_many_calls());
  }

  Call& call_;
  const UnaryMethod& method_;
  std::atomic<bool> waits_ = false;  // for the service
};

}  // namespace

std::unique_ptr<Exchange> unary_exchange(Call& call, const UnaryMethod& method) {
  return std::make_unique<UnaryExchange>(call, method);
}

}  // namespace ridge::front::grpc
