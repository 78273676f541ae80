// Service: the operations of a running server, in native types. Protocol front ends (HTTP, gRPC) translate to and from
// these and hold no state of their own.
//
// Thread-safe. infer() never blocks: it validates, queues and returns; `done` is called exactly once, on the calling
// thread (if it is rejected) or on a worker thread. Repository calls block until their work is done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"
#include "base/tensor.h"

namespace ridge::serve {

class Region;
struct EnsembleParts;
class TextModel;  // text_model.h
using TextModelPtr = std::shared_ptr<TextModel>;
struct Encoder;  // encoder.h
using EncoderPtr = std::shared_ptr<const Encoder>;

// A part of a registered region of shared memory, as a request names it.
struct SharedMemoryView {
  std::string region;
  uint64_t offset = 0;                  // [bytes] from the region's begin
  uint64_t byte_size = 0;               // of the input, or the space for the output
  std::shared_ptr<Region> memory = {};  // set by the service: the region lives while the request does
};

struct RequestInput {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape shape;                                // as the client gave it, unchecked
  std::span<const std::byte> data;            // packed (base/tensor.h), unchecked; valid while InferRequest::body lives
  std::optional<SharedMemoryView> part = {};  // given: the tensor is there, and the service sets `data`
};

struct RequestedOutput {
  std::string name;
  int64_t classification = 0;                 // k > 0: answer the top k classes as BYTES instead of the tensor
  std::optional<SharedMemoryView> part = {};  // given: the tensor is written there
};

// 0 and "" are none. A number and the text of it name two sequences.
using SequenceId = std::variant<uint64_t, std::string>;

// A request's place in a sequence; counts for models with sequence batching.
struct SequencePart {
  SequenceId id;
  bool start = false, end = false;
};

// When a request went through its stages, and in which batch. Zero: it did not get there.
struct StageTimes {
  TimePoint queued{}, started{}, inputs_ready{}, computed{}, outputs_ready{};
  int64_t version = 0;
  int64_t batch_rows = 0, batch_requests = 0;
};

class Round;

struct InferRequest {
  std::string model;
  int64_t version = 0;  // 0 = the highest that is served
  std::string id;
  std::vector<RequestInput> inputs;
  std::vector<RequestedOutput> outputs;  // empty = all
  std::optional<Nanoseconds>
      timeout;            // its deadline, from when it is queued; counts only if the model's queue policy allows it
  uint64_t priority = 0;  // 1 = first; 0 = the model's default level
  TimePoint arrived{};    // when its first byte was seen; statistics count from here
  std::shared_ptr<const void> body;       // keeps the inputs' memory alive until `done` was called
  std::stop_token cancelled = {};         // requested: the client has left
  TimePoint deadline = TimePoint::max();  // the client's own: no answer reaches it later
  SequencePart sequence = {};
  std::shared_ptr<const EnsembleParts> parts = {};  // of a step that is an ensemble: its models; set by the service
  std::shared_ptr<StageTimes> stages = {};          // given: written before `done` is called
  Round* round = nullptr;                           // of the calling thread, which ends it after this and other calls
};

struct ResponseOutput {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape shape;
  std::span<const std::byte> data;  // valid while owner lives
  std::shared_ptr<const void> owner;
  bool in_region = false;  // written to the requested region; `data` is then empty
};

// Engine's times for the batch of a request; of an ensemble the sums over its steps; 0 for answers from the cache.
struct ComputeTimes {
  Nanoseconds input{}, infer{}, output{};
};

struct InferResponse {
  std::string model;
  int64_t version = 0;
  std::string id;
  std::vector<ResponseOutput> outputs;  // in the requested order
  ComputeTimes times = {};
};

using InferDone = std::function<void(Result<InferResponse>)>;

struct ModelMetadata {
  std::string name;
  std::vector<int64_t> versions;  // READY ones, ascending (only the requested one, if any)
  std::string platform;
  std::vector<TensorSpec> inputs;  // shapes with the leading -1 of batching models
  std::vector<TensorSpec> outputs;
  int64_t max_batch_size = 0;  // rows; 0 = it does not batch
  bool sequences = false;      // each request belongs to a sequence
};

enum class ModelState { kUnavailable, kLoading, kReady, kUnloading };
std::string_view model_state_name(ModelState state);  // "READY", …

struct IndexEntry {
  std::string name;
  int64_t version = 0;  // 0 = not known: a directory never loaded (without reason), or whose load failed before it was
  ModelState state = ModelState::kUnavailable;
  std::string reason;
};

struct DurationStatistic {
  uint64_t count = 0;
  uint64_t ns = 0;
};

struct BatchStatistic {
  uint64_t batch_size = 0;
  DurationStatistic compute_input, compute_infer, compute_output;
};

// Counts of durations: upper bounds [s], the last infinite, and for each how many were no longer.
struct Histogram {
  std::vector<double> bounds_s;
  std::vector<uint64_t> counts;
  double sum_s = 0;
};

// Counters of one version of one model since it was loaded. Meaning of every counter: docs/contracts.md, as Triton's.
struct ModelStatistics {
  std::string name;
  int64_t version = 0;
  uint64_t last_inference_ms = 0;  // since the epoch
  uint64_t inference_count = 0;    // rows
  uint64_t execution_count = 0;    // engine runs
  DurationStatistic success, fail, queue, compute_input, compute_infer, compute_output, cache_hit, cache_miss;
  std::vector<BatchStatistic> batches;                                         // ascending batch size
  uint64_t rejected = 0, cancelled = 0, backend_failed = 0, other_failed = 0;  // requests, by cause; sum = fail.count
  uint64_t queue_full = 0, predicted_late = 0, queue_timeout = 0;              // of those rejected
  uint64_t pending = 0;                                                        // requests waiting now
  uint64_t load_ns = 0;                                                        // that its load took
  std::vector<std::pair<std::string, std::string>> metric_tags;
  // Times of successful requests: in the server, and by stage. Every request of a batch has the batch's compute times.
  Histogram latency, queue_time, input_time, infer_time, output_time;
  uint64_t busy_ns = 0;  // time that instances were at work, summed over them
  std::optional<uint64_t>
      bound_ns;             // least time that the whole machine needs for the batches that ran; absent: not known
  uint64_t file_bytes = 0;  // of the model's file and its external data
};

// Counters of a version that gets copies of requests (serve/shadow.h).
struct ShadowStatistics {
  std::string model;
  int64_t version = 0;
  uint64_t compared = 0, failed = 0;     // answers; copies that it could not answer
  uint64_t skipped = 0;                  // requests that were not copied, or while it did not serve
  Histogram difference;                  // of the outputs, relative: its bounds and sum are no seconds
  Histogram answered_time, shadow_time;  // of the compared requests, from the queue on
};

// Files that a load request brings, replacing the directory: "1/model.onnx" → content.
struct LoadRequest {
  std::optional<std::string> config_json;  // a ModelConfig as JSON, replaces config.pbtxt
  std::vector<std::pair<std::string, std::string>> files;
};

enum class RegionKind {
  kSystem,  // POSIX shared memory
  kCuda,    // of a GPU, by a handle of the driver for other processes
};

// Memory that a client shares with the server under a name; the names of both kinds are one set.
struct RegionRequest {
  RegionKind kind = RegionKind::kSystem;
  std::string name;
  uint64_t byte_size = 0;
  // kSystem: the object's name as shm_open has it, and where the region begins in it [bytes].
  std::string key = {};
  uint64_t offset = 0;
  // kCuda: the driver's handle, 64 bytes, and the GPU, as the driver counts.
  std::string handle = {};
  uint64_t device = 0;
};
// For the status of regions, which shows no handles.
void visit_fields(auto& visit, Is<RegionRequest> auto& region) {
  visit("name", region.name);
  if (region.kind == RegionKind::kSystem) {
    visit("key", region.key);
    visit("offset", region.offset);
  } else {
    visit("device_id", region.device);
  }
  visit("byte_size", region.byte_size);
}

class Service {
 public:
  virtual ~Service() = default;

  virtual void infer(InferRequest request, InferDone done) = 0;
  // Takes cancelled requests from the queues; they end with kCancelled. Those that run already are finished.
  virtual void drop_cancelled() = 0;

  virtual bool live() const = 0;
  virtual bool ready() const = 0;
  virtual bool model_ready(const std::string& model, int64_t version) const = 0;
  // Errors: kNotFound unknown model or version; kUnavailable known but not ready.
  virtual Result<ModelMetadata> metadata(const std::string& model, int64_t version) const = 0;
  virtual Result<Json> config(const std::string& model, int64_t version) const = 0;
  // Empty model: all ready versions of all models.
  virtual Result<std::vector<ModelStatistics>> statistics(const std::string& model, int64_t version) const = 0;

  virtual std::vector<IndexEntry> index(bool only_ready) const = 0;
  // Checks that load() and unload() do anything; kUnavailable: why not.
  virtual Status check_control() const = 0;
  virtual Status load(const std::string& model, const LoadRequest& request) = 0;
  virtual Status unload(const std::string& model, bool dependents) = 0;
  // The highest version of a language model that serves. Errors as metadata(); kInvalid: not a language model. Held
  // only while it is asked something.
  virtual Result<TextModelPtr> text_model(const std::string& model) const;
  // The highest version of each language model that serves, by name.
  virtual std::vector<TextModelPtr> text_models() const { return {}; }
  // Versions of them that serve no more and have answers to end.
  virtual std::vector<TextModelPtr> retired_text_models() const { return {}; }
  // The same of models that make embeddings; kInvalid: it is none, and why.
  virtual Result<EncoderPtr> encoder(const std::string& model) const;
  virtual std::vector<EncoderPtr> encoders() const { return {}; }
  // Much memory has been freed, or is about to be: it goes back to the system soon.
  virtual void freed_much() {}
  // Models whose load has been warming them up for more than ten seconds.
  virtual std::vector<std::string> long_warm_ups() const { return {}; }

  // kInvalid: no such memory, not as much, or the name is taken.
  virtual Status register_region(RegionRequest region) = 0;
  // Empty name: all of that kind. Requests in progress keep theirs. An unregistered one is not an error.
  virtual void unregister_regions(RegionKind kind, const std::string& name) = 0;
  // By name. Empty name: all of that kind; else that one, or kNotFound.
  virtual Result<std::vector<RegionRequest>> regions(RegionKind kind, const std::string& name) const = 0;
};

}  // namespace ridge::serve
