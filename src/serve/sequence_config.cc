#include "serve/sequence_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/file.h"
#include "model_config.pb.h"
#include "serve/repository.h"
#include "serve/reshape.h"
#include "serve/settings_from_config.h"

namespace ridge::serve {
namespace {

using inference::ModelConfig;
using inference::ModelSequenceBatching;
using Control = inference::ModelSequenceBatching_Control;
using Kind = SequenceControl::Kind;

constexpr uint64_t kDefaultIdleUs = 1'000'000;     // Triton's model_config.proto
constexpr size_t kMostSlots = size_t{1} << 20;     // of an instance; more is a typing error
constexpr size_t kLargestState = size_t{1} << 30;  // of one sequence [bytes]

Error unsupported_sequences(std::string_view what, std::string_view instead) {
  return {Code::kUnsupported, fmt::format("{} of sequence_batching is not supported by ridge; {}", what, instead)};
}

DataType type_of(inference::DataType type) { return static_cast<DataType>(static_cast<int>(type)); }

Kind kind_of(const Control& control) {
  switch (control.kind()) {
    case Control::CONTROL_SEQUENCE_START: return Kind::kStart;
    case Control::CONTROL_SEQUENCE_END: return Kind::kEnd;
    case Control::CONTROL_SEQUENCE_CORRID: return Kind::kId;
    default: return Kind::kReady;
  }
}

template <typename T>
std::string packed(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// Type and values of one control; `which` names it. The schema allows several kinds of values, Triton exactly one.
Result<SequenceControl> control_of(const Control& control, const std::string& which) {
  SequenceControl result;
  result.kind = kind_of(control);
  const auto& [ints, floats, bools] =
      std::tie(control.int32_false_true(), control.fp32_false_true(), control.bool_false_true());
  if (result.kind == Kind::kId) {
    result.type = type_of(control.data_type());
    static constexpr DataType kTypes[] = {DataType::kUint64, DataType::kInt64, DataType::kUint32, DataType::kInt32,
                                          DataType::kBytes};
    if (std::find(std::begin(kTypes), std::end(kTypes), result.type) == std::end(kTypes))
      return invalid(
          fmt::format("{} needs data_type TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 or TYPE_STRING, found {}",
                      which, inference::DataType_Name(control.data_type())));
    if (!ints.empty() || !floats.empty() || !bools.empty())
      return invalid(fmt::format("{} has no values for false and true; remove them", which));
    return result;
  }
  const int kinds = (ints.empty() ? 0 : 1) + (floats.empty() ? 0 : 1) + (bools.empty() ? 0 : 1);
  if (kinds != 1 || ints.size() + floats.size() + bools.size() != 2)
    return invalid(
        fmt::format("{} needs two values, for false and true, in one of int32_false_true, fp32_false_true and "
                    "bool_false_true",
                    which));
  const auto set = [&](DataType type, const auto& values) {
    result.type = type;
    result.off = packed(values[0]);
    result.on = packed(values[1]);
  };
  if (!ints.empty()) set(DataType::kInt32, ints);
  if (!floats.empty()) set(DataType::kFp32, floats);
  if (!bools.empty()) set(DataType::kBool, bools);
  return result;
}

std::string control_text(const std::string& input, const Control& control) {
  return fmt::format("control {} of input '{}'", Control::Kind_Name(control.kind()), input);
}

Status check_controls(const ModelSequenceBatching& batching) {
  std::set<int> kinds;
  for (const auto& input : batching.control_input()) {
    if (input.control_size() != 1)
      return invalid(fmt::format("control_input '{}' needs one control, found {}", input.name(), input.control_size()));
    const Control& control = input.control(0);
    if (!kinds.insert(control.kind()).second)
      return invalid(fmt::format("{} is configured twice", control_text(input.name(), control)));
    if (auto valid = control_of(control, control_text(input.name(), control)); !valid) return valid.error();
  }
  return {};
}

Status check_oldest(const ModelConfig& config) {
  const auto& oldest = config.sequence_batching().oldest();
  if (oldest.preserve_ordering())
    return unsupported_sequences("preserve_ordering", "the answers of each sequence are always in order; remove it");
  if (oldest.max_candidate_sequences() < 1)
    return invalid(
        fmt::format("max_candidate_sequences must be at least 1, found {}", oldest.max_candidate_sequences()));
  for (const int32_t size : oldest.preferred_batch_size())
    if (size < 1 || size > std::max(1, config.max_batch_size()))
      return invalid(fmt::format("sequence batching preferred size must be between 1 and max_batch_size {}, found {}",
                                 config.max_batch_size(), size));
  return {};
}

size_t slots_of(const ModelConfig& config) {
  const auto& batching = config.sequence_batching();
  const int slots = batching.has_oldest() ? batching.oldest().max_candidate_sequences() : config.max_batch_size();
  return static_cast<size_t>(std::max(1, slots));
}

bool has_input(const ModelConfig& config, const std::string& name) {
  return std::any_of(config.input().begin(), config.input().end(),
                     [&](const auto& input) { return input.name() == name; });
}

// The place of a tensor in `specs`, which has to be of that type and of `dims`, and the batch dimension before them.
Result<int> place_of(const std::vector<TensorSpec>& specs, const std::string& name, DataType type, Shape dims,
                     bool batching, const std::string& which) {
  const TensorSpec* spec = find_spec(specs, name);
  if (spec == nullptr) return invalid(fmt::format("{}: the model has no tensor '{}' there", which, name));
  if (batching) dims.insert(dims.begin(), -1);
  const bool fits = batching ? !spec->shape.empty() && spec->shape[0] == -1 && matches(spec->shape, dims)
                             : spec->shape.empty() || matches(spec->shape, dims);
  if (spec->type != type || !fits)
    return invalid(fmt::format("{} is configured as {} {}{}, but the model has {} {}", which, data_type_name(type),
                               shape_text(dims), batching ? " (batch dimension included)" : "",
                               data_type_name(spec->type), shape_text(spec->shape)));
  return static_cast<int>(spec - specs.data());
}

// Values of one row: the file's, or zeros.
Status set_initial(const inference::ModelSequenceBatching_State& state, const std::string& directory,
                   const std::string& which, StateSettings& settings) {
  if (state.initial_state_size() > 1) return invalid(fmt::format("{} needs one initial_state at most", which));
  const inference::ModelSequenceBatching_InitialState* initial =
      state.initial_state_size() == 1 ? &state.initial_state(0) : nullptr;
  Shape dims(state.dims().begin(), state.dims().end());
  if (initial != nullptr && initial->dims_size() > 0) {
    const Shape given(initial->dims().begin(), initial->dims().end());
    if (!matches(dims, given))
      return invalid(
          fmt::format("{} has dims {}, and its initial_state {}", which, shape_text(dims), shape_text(given)));
    dims = given;
  }
  if (initial != nullptr && type_of(initial->data_type()) != settings.type)
    return invalid(fmt::format("{} is {}, and its initial_state {}", which, data_type_name(settings.type),
                               inference::DataType_Name(initial->data_type())));
  std::replace(dims.begin(), dims.end(), int64_t{-1}, int64_t{1});  // as Triton does
  settings.initial_shape = dims;
  const std::optional<int64_t> count = element_count(dims);
  const size_t element = settings.type == DataType::kBytes ? sizeof(uint32_t) : data_type_size(settings.type);
  if (!count || static_cast<uint64_t>(*count) > kLargestState / element)
    return invalid(fmt::format("{} of shape {} is larger than 1 GiB", which, shape_text(dims)));
  settings.initial.assign(static_cast<size_t>(*count) * element, '\0');
  if (initial == nullptr || !initial->has_data_file()) return {};
  RIDGE_TRY(check_relative_path(initial->data_file()));
  RIDGE_ASSIGN(std::string values, read_file(directory + "/initial_state/" + initial->data_file(), kLargestState));
  if (settings.type == DataType::kBytes) {
    RIDGE_TRY(check_bytes_block(std::as_bytes(std::span(values)), *count));
  } else if (values.size() != settings.initial.size()) {
    return invalid(fmt::format("the file '{}' for the initial_state of {} has {} bytes; its shape {} needs {}",
                               initial->data_file(), which, values.size(), shape_text(dims), settings.initial.size()));
  }
  settings.initial = std::move(values);
  return {};
}

Result<StateSettings> state_of(const ModelConfig& config, const inference::ModelSequenceBatching_State& state,
                               const engine::Signature& signature, const std::vector<TensorSettings>& outputs,
                               const std::string& directory) {
  const bool batching = config.max_batch_size() > 0;
  const std::string which = fmt::format("state '{}' → '{}'", state.output_name(), state.input_name());
  const Shape dims(state.dims().begin(), state.dims().end());
  if (has_input(config, state.input_name()))
    return invalid(fmt::format("'{}' is both an input and a state; remove one", state.input_name()));
  StateSettings settings;
  settings.type = type_of(state.data_type());
  if (settings.type == DataType::kInvalid) return invalid(which + " needs a data_type");
  RIDGE_ASSIGN(settings.signature_index,
               place_of(signature.inputs, state.input_name(), settings.type, dims, batching, "the input of " + which));
  TensorSettings& output = settings.output;
  output.name = state.output_name();
  output.type = settings.type;
  output.dims = dims;
  RIDGE_ASSIGN(output.signature_index,
               place_of(signature.outputs, output.name, settings.type, dims, batching, "the output of " + which));
  const Shape& shape = signature.outputs[static_cast<size_t>(output.signature_index)].shape;
  Shape row(shape.begin() + (batching && !shape.empty() ? 1 : 0), shape.end());
  const bool open = std::any_of(row.begin(), row.end(), [](int64_t dim) { return dim < 0; });
  if (!open && !shape.empty() && settings.type != DataType::kBytes) output.fixed_shape = std::move(row);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == output.name) settings.listed = i;
  RIDGE_TRY(set_initial(state, directory, which, settings));
  return settings;
}

}  // namespace

Status check_sequence_batching(const ModelConfig& config) {
  if (!config.has_sequence_batching()) return {};
  const ModelSequenceBatching& batching = config.sequence_batching();
  if (batching.iterative_sequence()) return unsupported_sequences("iterative_sequence", "remove it");
  if (config.response_cache().enable())
    return Error{Code::kUnsupported,
                 "response_cache with sequence_batching is not supported by ridge; an answer depends on the requests "
                 "before, remove one of them"};
  if (batching.has_oldest()) RIDGE_TRY(check_oldest(config));
  const float utilization = batching.direct().minimum_slot_utilization();
  if (!(utilization >= 0 && utilization <= 1))
    return invalid(fmt::format("minimum_slot_utilization must be from 0 to 1, found {}", utilization));
  if (slots_of(config) > kMostSlots)
    return invalid(fmt::format("{} sequences at a time are more than the limit of {}; set a smaller {}",
                               slots_of(config), kMostSlots,
                               batching.has_oldest() ? "max_candidate_sequences" : "max_batch_size"));
  return check_controls(batching);
}

engine::Signature without_sequence_tensors(const ModelConfig& config, engine::Signature signature) {
  const ModelSequenceBatching& batching = config.sequence_batching();
  std::set<std::string> inputs, outputs;
  for (const auto& input : batching.control_input()) inputs.insert(input.name());
  for (const auto& state : batching.state()) {
    inputs.insert(state.input_name());
    outputs.insert(state.output_name());
  }
  std::erase_if(signature.inputs, [&](const TensorSpec& spec) { return inputs.contains(spec.name); });
  std::erase_if(signature.outputs, [&](const TensorSpec& spec) { return outputs.contains(spec.name); });
  return signature;
}

BatchLimits sequence_batch_limits(const ModelConfig& completed) {
  const ModelSequenceBatching& batching = completed.sequence_batching();
  BatchLimits limits;
  if (completed.max_batch_size() == 0) return limits;
  limits.merge = true;
  limits.max_rows = completed.max_batch_size();
  if (batching.has_oldest()) {
    const auto& preferred = batching.oldest().preferred_batch_size();
    limits.preferred.assign(preferred.begin(), preferred.end());
    limits.max_delay = from_microseconds(batching.oldest().max_queue_delay_microseconds());
    return limits;
  }
  // A batch waits until enough slots have a request.
  const double utilization = batching.direct().minimum_slot_utilization();
  if (utilization == 0) return limits;
  limits.max_delay = from_microseconds(batching.direct().max_queue_delay_microseconds());
  const auto least = static_cast<int64_t>(std::ceil(utilization * static_cast<double>(limits.max_rows)));
  for (int64_t rows = std::max<int64_t>(1, least); rows <= limits.max_rows; ++rows) limits.preferred.push_back(rows);
  return limits;
}

Result<SequenceSettings> sequence_settings_of(const ModelConfig& completed, const engine::Signature& signature,
                                              const std::vector<TensorSettings>& outputs,
                                              const std::string& directory) {
  const ModelSequenceBatching& batching = completed.sequence_batching();
  const bool batches = completed.max_batch_size() > 0;
  SequenceSettings settings;
  settings.slots = slots_of(completed);
  settings.row_is_slot = batches && !batching.has_oldest();
  const uint64_t idle_us = batching.max_sequence_idle_microseconds();
  settings.max_idle = from_microseconds(idle_us == 0 ? kDefaultIdleUs : idle_us);
  for (const auto& input : batching.control_input()) {
    const std::string which = control_text(input.name(), input.control(0));
    if (has_input(completed, input.name()))
      return invalid(fmt::format("'{}' is both an input and a control_input; remove one", input.name()));
    RIDGE_ASSIGN(SequenceControl control, control_of(input.control(0), which));
    RIDGE_ASSIGN(control.signature_index, place_of(signature.inputs, input.name(), control.type, {1}, batches, which));
    settings.controls.push_back(std::move(control));
  }
  for (const auto& state : batching.state()) {
    RIDGE_ASSIGN(StateSettings each, state_of(completed, state, signature, outputs, directory));
    settings.states.push_back(std::move(each));
  }
  return settings;
}

bool has_open_state(const SequenceSettings& settings) {
  return std::any_of(settings.states.begin(), settings.states.end(),
                     [](const StateSettings& state) { return !state.output.fixed_shape; });
}

}  // namespace ridge::serve
