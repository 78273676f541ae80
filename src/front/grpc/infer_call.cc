#include "front/grpc/infer_call.h"

#include <new>
#include <utility>

#include "front/error_text.h"
#include "front/grpc/message_coding.h"
#include "front/infer_rules.h"
#include "serve/round.h"

namespace ridge::front::grpc {
namespace {

// Work above these sizes goes to another thread; as HTTP's limits (infer_endpoint.cc), measured there.
constexpr size_t kLongContents = 64 * 1024;  // [bytes] of typed values to read, or of a message to unpack
constexpr size_t kLongestTraceError = 1024;  // [bytes]

// True if a span counts it as an error, by OpenTelemetry's semantic conventions for gRPC servers: UNIMPLEMENTED,
// UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL.
bool is_of_server(Code code) {
  return code == Code::kUnsupported || code == Code::kUnavailable || code == Code::kTimeout || code == Code::kFailed;
}

// A request on its way to the service.
struct InferSubmission {
  std::shared_ptr<Call> call;
  TimePoint arrived;
  std::stop_token client;
  InferOutcomeDone done;
  MessageBytes message;
  serve::InferRequest request = {};
  InferOutcome outcome = {};
};
using SubmissionPtr = std::shared_ptr<InferSubmission>;

// Any thread.
void end(const SubmissionPtr& submission, Result<serve::InferResponse> answer) {
  submission->outcome.answer = std::move(answer);
  submission->call->run([submission] { submission->done(std::move(submission->outcome)); });
}

// False: the request was invalid, and is answered.
bool read(const SubmissionPtr& submission) {
  Call& call = *submission->call;
  InferOutcome& outcome = submission->outcome;
  try {
    Result<serve::InferRequest> request =
        decode_infer_request(std::move(submission->message), call.api().bodies, outcome.id);
    if (!request) return end(submission, std::move(request).error()), false;
    outcome.model = request->model;
    outcome.trace = call.begin_trace(request->model, outcome.id, submission->arrived);
    if (uses_regions(*request))
      if (Status allowed = check_regions_allowed(call.api().options.shared_memory, call.from_this_machine()); !allowed)
        return end(submission, std::move(allowed).error()), false;
    submission->request = std::move(*request);
    return true;
  } catch (const std::bad_alloc&) {
    end(submission, out_of_memory());
    return false;
  }
}

// On the call's thread it may also run there, at the end of its round.
void submit(const SubmissionPtr& submission, bool on_own_thread = false) {
  Call& call = *submission->call;
  serve::InferRequest request = std::move(submission->request);
  request.arrived = submission->arrived;
  request.deadline = call.deadline();
  request.cancelled = submission->client;
  request.stages = stages_of(submission->outcome.trace);
  submission->outcome.regions = output_regions(request);
  if (on_own_thread) {
    request.round = &call.round();
    call.end_round_soon();
  }
  call.api().service.infer(std::move(request),
                           [submission](Result<serve::InferResponse> answer) { end(submission, std::move(answer)); });
}

void convert(const SubmissionPtr& submission, std::function<void()> job) {
  if (submission->call->api().convert.run(std::move(job))) return;
  end(submission, Error{Code::kUnavailable, "too many large requests are waiting to be parsed; try again later"});
}

void read_and_submit(const SubmissionPtr& submission) {
  if (submission->client.stop_requested()) return;
  if (read(submission)) submit(submission);
}

// Unpacks up to `limit`.
Status unpack(InferSubmission& submission, uint64_t limit) {
  try {
    RIDGE_ASSIGN(submission.message, unpacked(submission.message, submission.call->coding(), {limit, kInputSizeOption},
                                              submission.call->api().bodies));
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

void unpack_read_and_submit(const SubmissionPtr& submission) {
  if (submission->client.stop_requested()) return;
  Status unpacked = unpack(*submission, submission->call->api().options.largest_unpacked);
  if (!unpacked) return end(submission, std::move(unpacked).error());
  read_and_submit(submission);
}

// A packed message counts as what it is when it is unpacked: up to the limit of a short one it is unpacked here.
void begin(const SubmissionPtr& submission) {
  if (submission->message.packed) {
    const uint64_t limit = std::min<uint64_t>(kLongContents, submission->call->api().options.largest_unpacked);
    const bool is_short = submission->message.size <= kLongContents;
    Status unpacked = is_short ? unpack(*submission, limit) : Error{Code::kExhausted, ""};
    if (!unpacked && unpacked.error().code == Code::kExhausted)
      return convert(submission, [submission] { unpack_read_and_submit(submission); });
    if (!unpacked) return end(submission, std::move(unpacked).error());
  }
  if (has_long_contents(submission->message, kLongContents))
    return convert(submission, [submission] { read_and_submit(submission); });
  if (!read(submission)) return;
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
    infer(call_, call_.arrived(), stop_.get_token(), [this](InferOutcome outcome) { answer(std::move(outcome)); });
  }
  void cancelled() override {
    stop_.request_stop();
    if (waits_) call_.client_left();
  }

 private:
  void answer(InferOutcome outcome) {
    waits_ = false;
    call_.describe(outcome.model, outcome.id);
    call_.hold(outcome.trace);
    Result<AnswerParts> parts = parts_of(std::move(outcome), AnswerKind::kUnary);
    if (!parts) return call_.finish(std::move(parts).error());
    call_.write_and_finish(std::move(*parts));
  }

  Call& call_;  // is held while a request is under way
  std::stop_source stop_;
  bool waits_ = false;  // for the service
};

}  // namespace

void infer(Call& call, TimePoint arrived, std::stop_token client, InferOutcomeDone done) {
  begin(std::make_shared<InferSubmission>(InferSubmission{.call = call.shared_from_this(),
                                                          .arrived = arrived,
                                                          .client = std::move(client),
                                                          .done = std::move(done),
                                                          .message = call.take_message()}));
}

Result<AnswerParts> parts_of(InferOutcome outcome, AnswerKind kind) {
  if (!outcome.answer && outcome.trace && is_of_server(outcome.answer.error().code))
    outcome.trace->record.error = error_text(outcome.answer.error().message, kLongestTraceError);
  if (!outcome.answer) return std::move(outcome.answer).error();
  return encode_infer_response(std::move(*outcome.answer), outcome.regions, kind);
}

std::unique_ptr<Exchange> infer_exchange(Call& call) { return std::make_unique<InferExchange>(call); }

}  // namespace ridge::front::grpc
