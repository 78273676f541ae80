// Inference: the shared part of ModelInfer and ModelStreamInfer. Included only by this folder's sources.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "front/grpc/call.h"
#include "front/grpc/infer_message.h"

namespace ridge::front::grpc {

// The answer to one request, or why there is none, and the request's id as far as it is known.
struct InferOutcome {
  Result<serve::InferResponse> answer{Error{}};
  OutputRegions regions = {};
  std::string model = {}, id = {};
  std::shared_ptr<Trace> trace = {};  // ends when the answer has been sent; null: not traced
};
using InferOutcomeDone = std::function<void(InferOutcome)>;

// Unpacks, decodes and submits the message that the call has received; long ones on threads of their own. `done` is
// called once, on the call's thread, later.
void infer(Call& call, TimePoint arrived, std::stop_token client, InferOutcomeDone done);

// The message of an outcome, whose trace says why there is none.
Result<AnswerParts> parts_of(InferOutcome outcome, AnswerKind kind);

// ModelInfer.
std::unique_ptr<Exchange> infer_exchange(Call& call);
// ModelStreamInfer (stream_call.cc).
std::unique_ptr<Exchange> stream_exchange(Call& call);

}  // namespace ridge::front::grpc
