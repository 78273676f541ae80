// Texts, as tokens → one vector each, by an encoder: rows of similar lengths share a request to the model, which goes
// the way of all requests; its output is pooled and brought to length 1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/encoder.h"
#include "serve/service.h"

namespace ridge::serve {

using Vectors = std::vector<std::vector<float>>;

struct EmbeddingRequest {
  std::vector<std::vector<int32_t>> texts;
  TimePoint arrived{};
  std::stop_token cancelled = {};
  std::shared_ptr<StageTimes> stages = {};  // written where one request to the model is enough
};
using InferFunction = std::function<void(InferRequest, InferDone)>;
using EmbeddingDone = std::function<void(Result<Vectors>)>;  // in the order of the texts

// kInvalid: a text without tokens, with too many, or with one that the tokenizer does not have.
Status check_texts(const Encoder& encoder, std::span<const std::vector<int32_t>> texts);

// Which texts go together, by their lengths [tokens]: at most `most_rows` of them, of which the longest has at most
// twice the tokens of the shortest, so that no more than half of what is computed is padding.
std::vector<std::vector<size_t>> group_by_length(std::span<const size_t> lengths, size_t most_rows);

// `request` has passed check_texts(). `done` is called once, by a thread that answers requests, or by this one. After
// the first error no more is sent.
void embed(const InferFunction& infer, EncoderPtr encoder, EmbeddingRequest request, EmbeddingDone done);

// Scales it to length 1; zeros stay.
void normalise(std::span<float> vector);

}  // namespace ridge::serve
