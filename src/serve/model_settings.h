// ModelSettings: everything the server needs to know to run one version of a model, in native types: the completed and
// checked config.pbtxt beside the model's own signature. Immutable once built.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/tensor.h"
#include "serve/batch_policy.h"
#include "serve/traffic.h"

namespace ridge::serve {

struct TensorSettings {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape dims;                       // as clients see it, without the batch dimension; -1 = any
  std::optional<Shape> reshape;     // what the model gets (or gives) instead of dims; -1 = the dims' open ones in order
  bool optional = false;            // inputs only
  int signature_index = 0;          // into engine::Signature::inputs and then optional_inputs, or outputs
  std::vector<std::string> labels;  // outputs only: of each class, by index
  // Outputs: the shape that the model always gives, without the batch dimension; absent if it has open dimensions.
  std::optional<Shape> fixed_shape;
};

struct QueuePolicy {
  size_t max_size = 0;                  // waiting requests; 0 = the server's limit
  Nanoseconds default_timeout{0};       // 0 = none
  bool allow_timeout_override = false;  // a request may ask for a shorter timeout
  bool delay_expired = false;           // expired requests run after the others instead of being refused
};

struct QueueSettings {
  BatchLimits batch;
  std::vector<QueuePolicy> levels;  // by priority, first = 1; at least one
  size_t default_level = 0;         // index into levels
  size_t size_limit = 100'000;      // where a level has no max_size
  bool spread = true;               // a batch that is due is spread over the instances that have nothing to do
};

// An input of the model that the server sets: what it has to know about a row's request.
struct SequenceControl {
  enum class Kind { kStart, kEnd, kReady, kId };
  Kind kind = Kind::kReady;
  DataType type = DataType::kInvalid;
  int signature_index = 0;  // into engine::Signature::inputs
  std::string off, on;      // packed values; not of kId
};

// An output that is an input of the sequence's next request.
struct StateSettings {
  int signature_index = 0;  // of the input
  DataType type = DataType::kInvalid;
  TensorSettings output;         // without reshape
  std::optional<size_t> listed;  // into ModelSettings::outputs, where clients may ask for it
  Shape initial_shape;           // without the batch dimension; no open dimension
  std::string initial;           // packed values of one row
};

struct SequenceSettings {
  size_t slots = 1;         // sequences at a time, of each instance
  bool row_is_slot = true;  // strategy "direct"; else a batch's rows are its requests
  Nanoseconds max_idle{};   // after that long without a request a sequence ends
  std::vector<SequenceControl> controls;
  std::vector<StateSettings> states;
};

struct WarmupTensor {
  enum class Data { kZero, kRandom, kFile };
  std::string name;
  DataType type = DataType::kInvalid;
  Shape dims;  // without the batch dimension
  Data data = Data::kZero;
  std::string file;  // kFile: path of the packed values of one row
};

struct WarmupSample {
  std::string name;
  int64_t batch = 0;  // rows; 0 for models that do not batch
  int count = 1;      // times to run
  std::vector<WarmupTensor> inputs;
};

struct ModelSettings {
  std::string name;
  int64_t version = 0;
  std::string platform;
  std::string notice = {};             // why it is served otherwise than its configuration asks; shown in the index
  int64_t max_batch_size = 0;          // 0 = the model does not batch
  std::vector<TensorSettings> inputs;  // in the order of the configuration
  std::vector<TensorSettings> outputs;
  size_t model_inputs = 0;          // number of inputs in the model's signature
  bool fixed_input_shapes = false;  // no input has an open dimension or may be left out: requests always merge
  QueueSettings queue;
  std::optional<SequenceSettings> sequences;
  Traffic traffic;                 // of the version that serves requests without one
  bool response_cache = false;     // equal requests are answered from the server's cache, if it has one
  bool preserve_ordering = false;  // answers leave in the order of the requests
  int instances = 1;
  bool warmup_batches = true;  // run every batch size once before ready
  std::vector<WarmupSample> warmup_samples;
  // The only numbers of rows that the engine runs at a time (chunked_run.h), rising; empty = any.
  std::vector<int64_t> prepared_rows;
  std::vector<std::pair<std::string, std::string>> metric_tags;
  bool batching() const { return max_batch_size > 0; }
};

}  // namespace ridge::serve
