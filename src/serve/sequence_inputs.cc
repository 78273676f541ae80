#include "serve/sequence_inputs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "serve/sequences.h"

namespace ridge::serve {
namespace {

using Kind = SequenceControl::Kind;

template <typename T>
void append(std::string& values, T value) {
  values.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// `id` fits the type (Sequences::add).
void append_id(std::string& values, DataType type, const SequenceId& id) {
  const auto* number = std::get_if<uint64_t>(&id);
  const uint64_t value = number != nullptr ? *number : 0;
  if (type == DataType::kBytes) {
    const std::string text = number != nullptr ? std::to_string(value) : std::get<std::string>(id);
    append(values, static_cast<uint32_t>(text.size()));
    values += text;
  } else if (data_type_size(type) == sizeof(uint32_t)) {
    append(values, static_cast<uint32_t>(value));
  } else {
    append(values, value);
  }
}

void append_empty_id(std::string& values, DataType type) {
  values.append(type == DataType::kBytes ? sizeof(uint32_t) : data_type_size(type), '\0');
}

bool is_on(Kind kind, const Job& job) {
  switch (kind) {
    case Kind::kStart: return job.request.sequence.start || job.sequence == nullptr;
    case Kind::kEnd: return job.request.sequence.end;
    default: return true;
  }
}

std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void SequenceInputs::add_control(const SequenceControl& control, std::string& values, TensorView& view) const {
  for (const Job* job : by_row_) {
    if (control.kind != Kind::kId)
      values += job != nullptr && is_on(control.kind, *job) ? control.on : control.off;
    else if (job != nullptr)
      append_id(values, control.type, job->request.sequence.id);
    else
      append_empty_id(values, control.type);
  }
  view.type = control.type;
  view.shape.assign(1, 1);
}

void SequenceInputs::add_state(size_t state, std::string& values, TensorView& view) const {
  const StateSettings& settings = settings_.sequences->states[state];
  const auto last = [&](const Job* job) -> const Tensor* {
    return job == nullptr || job->sequence == nullptr || job->sequence->states.empty() ? nullptr
                                                                                       : &job->sequence->states[state];
  };
  const Job* first = *std::find_if(by_row_.begin(), by_row_.end(), [](const Job* job) { return job != nullptr; });
  view.type = settings.type;
  view.shape = last(first) != nullptr ? last(first)->shape : settings.initial_shape;  // of all: they share the batch
  const auto elements = static_cast<size_t>(element_count(view.shape).value_or(0));
  const size_t element = settings.type == DataType::kBytes ? sizeof(uint32_t) : data_type_size(settings.type);
  for (const Job* job : by_row_) {
    if (job == nullptr)
      values.append(elements * element, '\0');
    else if (const Tensor* tensor = last(job))
      values.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
    else
      values += settings.initial;
  }
}

void SequenceInputs::add(std::span<const JobPtr> jobs, int64_t rows, std::span<TensorView> views) {
  if (!settings_.sequences) return;
  by_row_.assign(static_cast<size_t>(rows), nullptr);
  for (const JobPtr& job : jobs) std::fill_n(by_row_.begin() + job->first_row, job->rows, job.get());
  const SequenceSettings& settings = *settings_.sequences;
  values_.resize(settings.controls.size() + settings.states.size());
  size_t next = 0;
  const auto add_one = [&](int signature_index, auto fill) {
    std::string& values = values_[next++];
    values.clear();
    TensorView& view = views[static_cast<size_t>(signature_index)];
    fill(values, view);
    if (settings_.batching()) view.shape.insert(view.shape.begin(), rows);
    view.data = bytes_of_text(values);
  };
  for (const SequenceControl& control : settings.controls)
    add_one(control.signature_index, [&](auto& values, auto& view) { add_control(control, values, view); });
  for (size_t i = 0; i < settings.states.size(); ++i)
    add_one(settings.states[i].signature_index, [&](auto& values, auto& view) { add_state(i, values, view); });
}

}  // namespace ridge::serve
