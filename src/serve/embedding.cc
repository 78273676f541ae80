#include "serve/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/element.h"
#include "base/mutex.h"

namespace ridge::serve {
namespace {

// Values [rows, tokens] of one input.
template <typename T>
std::vector<std::byte> packed_input(EncoderInput::Kind kind, std::span<const std::vector<int32_t>* const> rows,
                                    size_t length) {
  std::vector<std::byte> bytes(rows.size() * length * sizeof(T));
  std::vector<T> row(length);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::fill(row.begin(), row.end(), T{0});
    if (kind == EncoderInput::Kind::kTokens) std::copy(rows[i]->begin(), rows[i]->end(), row.begin());
    if (kind == EncoderInput::Kind::kMask) std::fill_n(row.begin(), rows[i]->size(), T{1});
    std::memcpy(bytes.data() + i * length * sizeof(T), row.data(), length * sizeof(T));
  }
  return bytes;
}

// The mean of `count` vectors that lie behind one another.
std::vector<float> mean_of(const ResponseOutput& output, size_t first, size_t count, size_t width) {
  std::vector<double> sum(width);
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < width; ++k) sum[k] += element(output.type, output.data, first + i * width + k);
  std::vector<float> mean(width);
  std::transform(sum.begin(), sum.end(), mean.begin(),
                 [&](double each) { return static_cast<float>(each / static_cast<double>(count)); });
  return mean;
}

class EmbeddingRun : public std::enable_shared_from_this<EmbeddingRun> {
 public:
  EmbeddingRun(EncoderPtr encoder, EmbeddingRequest request, EmbeddingDone done)
      : encoder_(std::move(encoder)),
        request_(std::move(request)),
        done_(std::move(done)),
        vectors_(request_.texts.size()) {}

  void start(const InferFunction& infer) {
    std::vector<size_t> lengths;
    for (const auto& text : request_.texts) lengths.push_back(text.size());
    const auto groups = group_by_length(lengths, static_cast<size_t>(encoder_->most_rows));
    {
      const MutexLock lock(mutex_);
      open_ = groups.size();
    }
    for (const std::vector<size_t>& rows : groups) {
      if (failed()) {
        end({});
        continue;
      }
      InferRequest request = request_for(rows);
      if (groups.size() == 1) request.stages = request_.stages;
      infer(std::move(request), [self = shared_from_this(), rows](const Result<InferResponse>& answer) {
        self->end(answer ? self->take(rows, *answer) : Status(answer.error()));
      });
    }
  }

 private:
  bool failed() {
    const MutexLock lock(mutex_);
    return error_.has_value();
  }

  InferRequest request_for(const std::vector<size_t>& rows) const {
    std::vector<const std::vector<int32_t>*> texts;
    auto length = static_cast<size_t>(encoder_->fixed_length);
    for (const size_t row : rows) {
      texts.push_back(&request_.texts[row]);
      length = std::max(length, texts.back()->size());
    }
    InferRequest request;
    request.model = encoder_->model;
    request.version = encoder_->version;
    request.arrived = request_.arrived;
    request.cancelled = request_.cancelled;
    request.outputs.push_back({.name = encoder_->output});
    auto body = std::make_shared<std::vector<std::vector<std::byte>>>();
    for (const EncoderInput& input : encoder_->inputs) {
      body->push_back(input.type == DataType::kInt32 ? packed_input<int32_t>(input.kind, texts, length)
                                                     : packed_input<int64_t>(input.kind, texts, length));
      request.inputs.push_back({.name = input.name,
                                .type = input.type,
                                .shape = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)},
                                .data = body->back()});
    }
    request.body = std::move(body);
    return request;
  }

  // Called for different texts at the same time.
  Status take(const std::vector<size_t>& rows, const InferResponse& answer) {
    const ResponseOutput& output = answer.outputs.front();
    const bool pools = encoder_->pooling != Pooling::kNone;
    const size_t per_row = pools && output.shape.size() == 3 ? static_cast<size_t>(output.shape[1]) : 1;
    const std::optional<size_t> bytes = byte_size(output.type, output.shape);
    bool fits = output.shape.size() == (pools ? 3 : 2) && output.shape[0] == static_cast<int64_t>(rows.size()) &&
                bytes == output.data.size();
    for (const size_t row : rows) fits = fits && (!pools || request_.texts[row].size() <= per_row);
    if (!fits)
      return Error{Code::kFailed, fmt::format("output '{}' of model '{}' is {} for {} texts; expected [{},{}width]",
                                              encoder_->output, encoder_->model, shape_text(output.shape), rows.size(),
                                              rows.size(), pools ? "tokens," : "")};
    const auto width = static_cast<size_t>(output.shape.back());
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t tokens = encoder_->pooling == Pooling::kMean ? request_.texts[rows[i]].size() : 1;
      std::vector<float>& vector = vectors_[rows[i]];
      vector = mean_of(output, i * per_row * width, tokens, width);
      normalise(vector);
      if (!std::all_of(vector.begin(), vector.end(), [](float value) { return std::isfinite(value); }))
        return Error{Code::kFailed, fmt::format("output '{}' of model '{}' has values that are not numbers for text {}",
                                                encoder_->output, encoder_->model, rows[i])};
    }
    return {};
  }

  void end(Status status) {
    std::optional<Error> error;
    {
      const MutexLock lock(mutex_);
      if (!status && !error_) error_ = std::move(status).error();
      if (--open_ > 0) return;
      error.swap(error_);
    }
    error ? done_(std::move(*error)) : done_(std::move(vectors_));
  }

  const EncoderPtr encoder_;
  const EmbeddingRequest request_;
  const EmbeddingDone done_;
  Vectors vectors_;
  Mutex mutex_;
  size_t open_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ RIDGE_GUARDED_BY(mutex_);  // the first
};

}  // namespace

Status check_texts(const Encoder& encoder, std::span<const std::vector<int32_t>> texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto count = static_cast<int64_t>(texts[i].size());
    const std::string which = texts.size() == 1 ? "the input" : fmt::format("input {}", i);
    if (count == 0) return invalid(which + " has no tokens");
    if (encoder.most_tokens > 0 && count > encoder.most_tokens)
      return invalid(fmt::format("{} has {} tokens; model '{}' takes {} at most; shorten or split it", which, count,
                                 encoder.model, encoder.most_tokens));
    for (const int32_t token : texts[i])
      if (token < 0 || token >= encoder.tokenizer.vocabulary())
        return invalid(fmt::format("{} has the token {}; those of model '{}' are 0 to {}", which, token, encoder.model,
                                   encoder.tokenizer.vocabulary() - 1));
  }
  return {};
}

std::vector<std::vector<size_t>> group_by_length(std::span<const size_t> lengths, size_t most_rows) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return lengths[i]; });
  std::vector<std::vector<size_t>> groups;
  for (const size_t i : order) {
    const bool joins =
        !groups.empty() && groups.back().size() < most_rows && lengths[i] <= 2 * lengths[groups.back().front()];
    if (!joins) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

void embed(const InferFunction& infer, EncoderPtr encoder, EmbeddingRequest request, EmbeddingDone done) {
  std::make_shared<EmbeddingRun>(std::move(encoder), std::move(request), std::move(done))->start(infer);
}

void normalise(std::span<float> vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * value;
  if (squares == 0) return;
  const double factor = 1 / std::sqrt(squares);
  for (float& value : vector) value = static_cast<float>(value * factor);
}

}  // namespace ridge::serve
