#include "front/grpc/infer_call.h"

#include <atomic>
#include <new>
#include <utility>

#include "front/error_text.h"
#include "front/grpc/message_coding.h"
#include "front/grpc/message_to_send.h"
#include "front/infer_rules.h"
#include "serve/round.h"

namespace ridge::front::grpc {
namespace {

// From here on work goes to another thread; as HTTP's limits (infer_endpoint.cc), measured there.
constexpr size_t kLongContents = 64 * 1024;  // [bytes] of typed values to read, or of a message to unpack
constexpr size_t kLongPacking = 32 * 1024;   // [bytes] of an answer to compress
constexpr size_t kLongestTraceError = 1024;  // [bytes]
constexpr size_t kLongAnswer = 256 * 1024;   // [bytes] that a worker does not send itself

// Whether a span has it as its error, by OpenTelemetry's semantic conventions for gRPC servers: UNIMPLEMENTED, UNAVAILABLE,
// DEADLINE_EXCEEDED, INTERNAL.
bool is_of_server(Code code) {
  return code == Code::kUnsupported || code == Code::kUnavailable || code == Code::kTimeout || code == Code::kFailed;
}

// A request on its way to the service.
struct InferSubmission {
  std::shared_ptr<Call> call;  // the rest is valid while it lives
  Shared& shared;
  TimePoint arrived, deadline;
  std::stop_token client;
  InferOutcomeDone done;
  MessageBytes message = {};
  serve::InferRequest request = {};
  std::string id = {};
  std::shared_ptr<Trace> trace = {};

  void fail(Error error) { done({.answer = std::move(error), .id = std::move(id), .trace = std::move(trace)}); }
};
using SubmissionPtr = std::shared_ptr<InferSubmission>;

// False: the request was invalid, and is answered.
bool read(InferSubmission& submission) {
  Shared& shared = submission.shared;
  try {
    Result<serve::InferRequest> request =
        decode_infer_request(std::move(submission.message), shared.bodies, submission.id);
    if (!request) return submission.fail(std::move(request).error()), false;
    submission.call->describe(request->model, submission.id);
    submission.trace = submission.call->begin_trace(request->model, submission.id, submission.arrived);
    if (uses_regions(*request))
      if (Status allowed = check_regions_allowed(shared.options.shared_memory, submission.call->from_this_machine());
          !allowed)
        return submission.fail(std::move(allowed).error()), false;
    submission.request = std::move(*request);
    return true;
  } catch (const std::bad_alloc&) {
    submission.fail(out_of_memory());
    return false;
  }
}

// On the loop's thread it may also run there, if that has nothing else to do; else the worker's thread sends the answers meanwhile.
void submit(const SubmissionPtr& submission, bool on_loop = false) {
  serve::InferRequest request = std::move(submission->request);
  request.arrived = submission->arrived;
  request.deadline = submission->deadline;
  request.cancelled = submission->client;
  request.stages = stages_of(submission->trace);
  serve::Round round;
  if (on_loop && submission->call->loop().take_leisure()) request.round = &round;
  OutputRegions regions = output_regions(request);
  serve::Service& service = submission->shared.service;
  service.infer(std::move(request), [submission,
                                     regions = std::move(regions)](Result<serve::InferResponse> answer) mutable {
    submission->done({std::move(answer), std::move(regions), std::move(submission->id), std::move(submission->trace)});
  });
  round.end();
}

void convert(const SubmissionPtr& submission, std::function<void()> job) {
  if (submission->shared.convert.run(std::move(job))) return;
  submission->fail({Code::kUnavailable, "too many large requests are waiting to be parsed; try again later"});
}

void read_and_submit(const SubmissionPtr& submission) {
  if (submission->client.stop_requested()) return;
  if (read(*submission)) submit(submission);
}

// Unpacks up to `limit`.
Status unpack(InferSubmission& submission, Coding coding, uint64_t limit) {
  try {
    RIDGE_ASSIGN(submission.message, unpacked(submission.message, coding, limit, submission.shared.bodies));
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

void unpack_read_and_submit(const SubmissionPtr& submission, Coding coding) {
  if (submission->client.stop_requested()) return;
  Status unpacked = unpack(*submission, coding, submission->shared.options.largest_unpacked);
  if (!unpacked) return submission->fail(std::move(unpacked).error());
  read_and_submit(submission);
}

// A packed message counts as what it is when it is unpacked: up to the limit of a short one it is unpacked here.
void begin(const SubmissionPtr& submission) {
  if (const std::optional<Coding> coding = coding_of(submission->message)) {
    const uint64_t limit = std::min<uint64_t>(kLongContents, submission->shared.options.largest_unpacked);
    const bool is_short = submission->message.size <= kLongContents;
    Status unpacked = is_short ? unpack(*submission, *coding, limit) : Error{Code::kExhausted, ""};
    if (!unpacked && unpacked.error().code == Code::kExhausted)
      return convert(submission, [submission, coding] { unpack_read_and_submit(submission, *coding); });
    if (!unpacked) return submission->fail(std::move(unpacked).error());
  }
  if (has_long_contents(submission->message, kLongContents))
    return convert(submission, [submission] { read_and_submit(submission); });
  if (!read(*submission)) return;
  if (has_many_elements(submission->request)) return convert(submission, [submission] { submit(submission); });
  submit(submission, true);
}

// One request, one answer.
class InferExchange final : public Exchange {
 public:
  explicit InferExchange(Call& call) : call_(call) {}

  void begin() override { call_.read(); }
  void received(bool ok) override {
    if (!ok) return call_.finish(invalid("the call has no message; send a ModelInferRequest"));
    waits_ = true;
    infer(call_, call_.arrived(), stop_.get_token(), [this, call = call_.shared_from_this()](InferOutcome outcome) {
      answer(call, std::move(outcome));
      waits_ = false;
    });
  }
  void cancelled() override {
    stop_.request_stop();
    if (waits_) call_.loop().client_left();
  }
  bool busy() const override { return waits_; }

 private:
  static void answer(const std::shared_ptr<Call>& call, InferOutcome outcome) {
    call->hold(outcome.trace);
    Result<AnswerParts> parts = parts_of(std::move(outcome), AnswerKind::kUnary);
    if (!parts) return call->finish(std::move(parts).error());
    send_from_right_thread(call, std::move(*parts),
                           [call](AnswerParts answer) { call->write_and_finish(message_of(std::move(answer))); });
  }

  Call& call_;
  std::stop_source stop_;
  std::atomic<bool> waits_ = false;  // for the service
};

}  // namespace

void infer(Call& call, TimePoint arrived, std::stop_token client, InferOutcomeDone done) {
  Result<MessageBytes> message = call.take_message();
  if (!message) return done({.answer = std::move(message).error()});
  Shared& shared = call.loop().shared();
  begin(std::make_shared<InferSubmission>(InferSubmission{.call = call.shared_from_this(),
                                                          .shared = shared,
                                                          .arrived = arrived,
                                                          .deadline = call.deadline(),
                                                          .client = std::move(client),
                                                          .done = std::move(done),
                                                          .message = std::move(*message)}));
}

Result<AnswerParts> parts_of(InferOutcome outcome, AnswerKind kind) {
  if (!outcome.answer && outcome.trace && is_of_server(outcome.answer.error().code))
    outcome.trace->record.error = error_text(outcome.answer.error().message, kLongestTraceError);
  if (!outcome.answer) return std::move(outcome.answer).error();
  try {
    return encode_infer_response(std::move(*outcome.answer), outcome.regions, kind);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

void send_from_right_thread(const std::shared_ptr<Call>& call, AnswerParts parts,
                            std::function<void(AnswerParts)> send) {
  size_t size = 0;
  for (const AnswerPart& part : parts) size += part.text.size() + part.tensor.size();
  const bool packs = call->packs_answers() && size > kLongPacking;
  if (!packs && size <= kLongAnswer) return send(std::move(parts));
  auto held = std::make_shared<AnswerParts>(std::move(parts));
  std::function<void()> job = [call, held, send = std::move(send)] { send(std::move(*held)); };
  call->mailbox().put([call, packs, job = std::move(job)] {  // the loop lives when this runs
    if (!packs || !call->loop().shared().convert.run(std::function(job)))
      job();  // too many wait, but the answer is kept
  });
}

std::unique_ptr<Exchange> infer_exchange(Call& call) { return std::make_unique<InferExchange>(call); }

}  // namespace ridge::front::grpc
