#include "front/grpc/unary_call.h"

#include <new>
#include <optional>
#include <utility>

#include "front/control.h"
#include "front/grpc/message_coding.h"

namespace ridge::front::grpc {
namespace {

class UnaryExchange final : public Exchange {
 public:
  UnaryExchange(Call& call, const UnaryMethod& method) : call_(call), method_(method) {}

  // Who may not call does not send.
  void begin() override {
    if (Status allowed = check_client(); !allowed) return call_.finish(allowed);
    if (method_.longest > 0) call_.limit_messages(method_.longest);
    call_.read();
  }

  void received(bool ok) override {
    if (!ok) return call_.finish(invalid("the call has no message"));
    run(job_of(call_.take_message()));
  }

 private:
  Status check_client() const {
    const Api& api = call_.api();
    if (method_.rights == Rights::kAll) return {};
    const bool local = call_.from_this_machine();
    if (method_.rights == Rights::kRegions) return check_regions_allowed(api.options.shared_memory, local);
    RIDGE_TRY(check_control_allowed(api.options.model_control, local));
    return api.service.check_control();
  }

  // It may run when the server is gone; the service is not.
  std::function<void()> job_of(MessageBytes message) {
    return [call = call_.shared_from_this(), api = call_.api().shared_from_this(), &method = method_,
            message = std::move(message)] {
      std::string model;
      Result<std::string> answered = answer(*call, *api, method, message, model);
      call->run([&call = *call, model = std::move(model), answered = std::move(answered)] {
        call.describe(model, "");
        if (!answered) return call.finish(answered.error());
        call.write_and_finish({{.text = *answered}});
      });
    };
  }

  static Result<std::string> answer(const Call& call, Api& api, const UnaryMethod& method, const MessageBytes& message,
                                    std::string& model) {
    const UnaryContext context{api.service, api.options, call.from_this_machine(), model};
    try {
      if (!message.packed) return method.answer(context, message);
      const uint64_t most = api.options.largest_unpacked;
      const SizeLimit limit =
          method.longest > 0 && method.longest < most ? SizeLimit{method.longest} : SizeLimit{most, kInputSizeOption};
      RIDGE_ASSIGN(const MessageBytes plain, unpacked(message, call.coding(), limit, api.bodies));
      return method.answer(context, plain);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }

  void run(std::function<void()> job) {
    Api& api = call_.api();
    if (method_.runs_on == RunsOn::kLoop) return job();
    if (method_.runs_on == RunsOn::kLoads)
      if (std::optional<Error> refused = no_load_is_possible(api.service)) return call_.finish(*std::move(refused));
    JobThreads& thread = method_.runs_on == RunsOn::kLoads ? api.control.loads : api.control.control;
    if (!thread.run(std::move(job))) call_.finish(too_many_calls());
  }

  Call& call_;
  const UnaryMethod& method_;
};

}  // namespace

std::unique_ptr<Exchange> unary_exchange(Call& call, const UnaryMethod& method) {
  return std::make_unique<UnaryExchange>(call, method);
}

}  // namespace ridge::front::grpc
