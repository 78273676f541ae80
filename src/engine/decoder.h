// Decoders run language models step by step. A step takes tokens of several sequences, each at its own length, and
// gives logits where they are wanted. Keys and values stay in a cache of equal blocks; who owns which block is the
// caller's business (generate/).
//
// One thread at a time. The form is paged attention's (arXiv:2309.06180), as in OpenVINO, ONNX Runtime and vLLM.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/name_table.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/weight_form.h"

namespace ridge::engine {

// U8: 8 bits per value, scales beside them. An engine may have FP32 and BF16 only where it computes in them (OpenVINO:
// BF16 with weights in 16 bits on CPUs with BF16 only, FP32 where products are in FP32).
enum class CacheForm { kFp32, kBf16, kU8 };
NameTable<CacheForm> names_of(CacheForm);  // fp32 bf16 u8
Result<CacheForm> cache_form(std::string_view name);

struct DecoderPlan {
  std::string engine = {};   // a row of engines.h; "fake" for tests
  std::string library = {};  // path of the engine's library; empty: search order of engine/
  std::string folder = {};   // a checkpoint (checkpoint/): a folder or a GGUF file; of the fake engine, its script
  WeightFormat weights = WeightFormat::kBf16;  // by form_of()
  CacheForm cache = CacheForm::kU8;
  int threads = 0;  // 0: all CPUs that the process may run on
};

struct CacheShape {
  int64_t block_tokens = 0;     // tokens per block
  int64_t bytes_per_block = 0;  // of all layers, keys and values, as the engine lays them out
  // Blocks for the tokens of one sequence.
  int64_t blocks_for(int64_t tokens) const { return (tokens + block_tokens - 1) / block_tokens; }
};

struct DecoderInfo {
  Info engine;
  int64_t vocabulary = 0;  // logits per row
  int64_t context = 0;     // most tokens of a sequence
  CacheShape cache;
  int64_t weight_bytes = 0;  // read by a step of one token
};

// One sequence's part in a step. The views live until the step returns.
struct StepSequence {
  int64_t past = 0;                      // its tokens whose keys and values are in the cache
  std::span<const int32_t> tokens = {};  // at positions past, past + 1, …; at least one
  std::span<const int32_t> blocks = {};  // in order of positions: at least ⌈(past + tokens) / block_tokens⌉
  int64_t samples = 1;                   // rows of logits wanted, of the last positions of `tokens`; 0: none
};

// Rows in the order of the sequences, of each in the order of positions. Valid until the next step.
struct Logits {
  std::span<const float> values;  // [rows, vocabulary]
  int64_t rows = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual const DecoderInfo& info() const = 0;
  // Resizes the cache to that number of blocks; its contents are lost. Error: memory.
  virtual Status reserve(int64_t blocks) = 0;
  // Writes keys and values of the new tokens into the sequences' blocks. An error leaves those positions undefined, all
  // before them as they were. kInvalid: a token outside the vocabulary, a block that was not reserved, too few blocks,
  // a sequence longer than the context; nothing was run.
  virtual Result<Logits> step(std::span<const StepSequence> sequences) = 0;
  // Breaks off the step under way, as soon as the engine can; it ends with kCancelled. Thread-safe.
  virtual void terminate() {}
};

// Opens plan.folder with plan.engine. Errors: what the checkpoint has that the engine's decoder does not compute, by
// name; libraries that were tried and why each failed. Steps of the fake engine sleep on `clock`.
Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, Clock& clock = system_clock());

}  // namespace ridge::engine
