#include "engine/fake/fake_decoder.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fields.h"
#include "base/file.h"
#include "base/random.h"
#include "checkpoint/weights.h"
#include "engine/fake/fake_session.h"
#include "engine/step_check.h"

namespace ridge::engine::fake {
namespace {

// Effects of a form of weights or cache.
struct ScriptedForm {
  double time = 1;       // factor of a step's
  double deviation = 0;  // most that a logit differs by
  std::string fail;      // message of opening it; empty: it opens
};
void visit_fields(auto& visit, Is<ScriptedForm> auto& form) {
  visit.optional("time", form.time, at_least(0));
  visit.optional("deviation", form.deviation, at_least(0));
  visit.optional("fail", form.fail);
}

struct DecoderScript {
  int64_t vocabulary = 256, context = 4096;
  int64_t block_tokens = 16, bytes_per_block = 1024, weight_bytes = 0;
  int64_t most_blocks = 1 << 20;  // reserving more fails for lack of memory
  double load_ms = 0;
  std::string fail_load;  // message; empty: loading succeeds
  double step_ms = 0, step_ms_per_token = 0, step_ms_per_cached_token = 0;
  std::vector<int64_t> fail_steps;                      // numbers of the steps that fail, from 1
  std::map<std::string, ScriptedForm> weights, caches;  // by names of forms
};
void visit_fields(auto& visit, Is<DecoderScript> auto& script) {
  visit.optional("vocabulary", script.vocabulary, at_least(1));
  visit.optional("context", script.context, at_least(1));
  visit.optional("block_tokens", script.block_tokens, at_least(1));
  visit.optional("bytes_per_block", script.bytes_per_block, at_least(1));
  visit.optional("weight_bytes", script.weight_bytes, at_least(0));
  visit.optional("most_blocks", script.most_blocks, at_least(0));
  visit.optional("load_ms", script.load_ms, at_least(0));
  visit.optional("fail_load", script.fail_load);
  visit.optional("step_ms", script.step_ms, at_least(0));
  visit.optional("step_ms_per_token", script.step_ms_per_token, at_least(0));
  visit.optional("step_ms_per_cached_token", script.step_ms_per_cached_token, at_least(0));
  visit.optional("fail_steps", script.fail_steps);
  visit.optional("weights", script.weights);
  visit.optional("caches", script.caches);
}

Result<DecoderScript> read_decoder_script(const std::string& path) {
  if (path.empty()) return DecoderScript();
  const std::filesystem::path given(path);
  const std::string file = std::filesystem::is_directory(given) ? (given / kDecoderScript).string()
                           : checkpoint::is_gguf(path)          ? (given.parent_path() / kDecoderScript).string()
                                                                : path;
  RIDGE_ASSIGN(const std::string text, read_file(file));
  RIDGE_ASSIGN(const Json json, parse_json(text, file));
  const Json known = json_of(DecoderScript());
  for (const auto& [member, value] : json.items())
    if (!known.contains(member))
      return invalid(file + ": unknown member '" + member + "'; docs/contracts.md lists them");
  Result<DecoderScript> script = from_json<DecoderScript>(json);
  if (!script) return wrap(std::move(script).error(), file);
  return script;
}

uint64_t mixed(uint64_t a, uint64_t b) { return split_mix(a + kGoldenGamma * (b + 1)); }

// Content of a token's slot: like its keys and values it depends on the token, its position and all that was seen
// before.
uint64_t slot_value(uint64_t before, int32_t token, int64_t position) {
  return mixed(mixed(before, static_cast<uint64_t>(token)), static_cast<uint64_t>(position));
}

int32_t next_after(uint64_t seen, int64_t vocabulary) {
  return static_cast<int32_t>(split_mix(seen) % static_cast<uint64_t>(vocabulary));
}

// Combines the forms of a plan.
ScriptedForm form_of(const DecoderScript& script, const DecoderPlan& plan) {
  const auto named = [](const std::map<std::string, ScriptedForm>& forms, std::string_view name) {
    const auto found = forms.find(std::string(name));
    return found == forms.end() ? ScriptedForm() : found->second;
  };
  const ScriptedForm weights = named(script.weights, name_of(names_of(plan.weights), plan.weights));
  const ScriptedForm cache = named(script.caches, name_of(names_of(plan.cache), plan.cache));
  return {weights.time * cache.time, weights.deviation + cache.deviation,
          weights.fail.empty() ? cache.fail : weights.fail};
}

// A peak of 10 over values in [-1, 1).
void write_logits(uint64_t seen, std::span<float> row) {
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(mixed(seen, i) >> 40) * 0x1p-23F - 1;
  row[static_cast<size_t>(next_after(seen, static_cast<int64_t>(row.size())))] = 10;
}

uint64_t seen_after(std::span<const int32_t> tokens) {
  uint64_t seen = 0;
  for (size_t i = 0; i < tokens.size(); ++i) seen = mixed(seen, slot_value(seen, tokens[i], static_cast<int64_t>(i)));
  return seen;
}

class FakeDecoder final : public Decoder {
 public:
  FakeDecoder(DecoderScript script, const ScriptedForm& form, DecoderInfo info, Clock& clock)
      : script_(std::move(script)), form_(form), info_(std::move(info)), clock_(clock) {}

  const DecoderInfo& info() const override { return info_; }

  Status reserve(int64_t blocks) override {
    if (blocks < 0 || blocks > script_.most_blocks)
      return Error{Code::kExhausted, "the fake engine has memory for " + std::to_string(script_.most_blocks) +
                                         " blocks, not for " + std::to_string(blocks)};
    slots_.assign(static_cast<size_t>(blocks * script_.block_tokens), 0);
    blocks_ = blocks;
    return {};
  }

  Result<Logits> step(std::span<const StepSequence> sequences) override {
    RIDGE_TRY(check_step(info_, blocks_, sequences));
    ++steps_;
    terminated_ = false;
    for (const StepSequence& sequence : sequences) forget(sequence);
    if (!wait(sequences)) return Error{Code::kCancelled, "the step was broken off"};
    if (std::find(script_.fail_steps.begin(), script_.fail_steps.end(), steps_) != script_.fail_steps.end())
      return Error{Code::kFailed, "the fake engine fails step " + std::to_string(steps_) + " as its script says"};
    int64_t rows = 0;
    for (const StepSequence& sequence : sequences) rows += sequence.samples;
    logits_.resize(static_cast<size_t>(rows * info_.vocabulary));
    std::span<float> rest = logits_;
    for (const StepSequence& sequence : sequences) compute(sequence, rest);
    return Logits{logits_, rows};
  }

  void terminate() override { terminated_ = true; }

 private:
  uint64_t& slot(const StepSequence& sequence, int64_t position) {
    const int64_t block = sequence.blocks[static_cast<size_t>(position / script_.block_tokens)];
    return slots_[static_cast<size_t>(block * script_.block_tokens + position % script_.block_tokens)];
  }

  // A step that fails leaves its positions undefined.
  void forget(const StepSequence& sequence) {
    const auto tokens = static_cast<int64_t>(sequence.tokens.size());
    for (int64_t i = 0; i < tokens; ++i) slot(sequence, sequence.past + i) = 0;
  }

  bool wait(std::span<const StepSequence> sequences) {
    double ms = script_.step_ms;
    for (const StepSequence& sequence : sequences)
      ms += script_.step_ms_per_token * static_cast<double>(sequence.tokens.size()) +
            script_.step_ms_per_cached_token * static_cast<double>(sequence.past);
    ms *= form_.time;
    if (ms == 0) return true;
    return clock_.sleep_until(clock_.now() + from_seconds(ms / 1000), [this] { return terminated_.load(); });
  }

  // `rest` begins with the rows of this sequence, and leaves without them.
  void compute(const StepSequence& sequence, std::span<float>& rest) {
    uint64_t seen = 0;
    for (int64_t i = 0; i < sequence.past; ++i) seen = mixed(seen, slot(sequence, i));
    const auto tokens = static_cast<int64_t>(sequence.tokens.size());
    for (int64_t i = 0; i < tokens; ++i) {
      uint64_t& here = slot(sequence, sequence.past + i);
      here = slot_value(seen, sequence.tokens[static_cast<size_t>(i)], sequence.past + i);
      seen = mixed(seen, here);
      if (i < tokens - sequence.samples) continue;
      const auto vocabulary = static_cast<size_t>(info_.vocabulary);
      write_logits(seen, rest.first(vocabulary));
      for (size_t at = 0; form_.deviation > 0 && at < vocabulary; ++at)
        rest[at] += static_cast<float>(form_.deviation * ((mixed(seen, vocabulary + at) >> 40) * 0x1p-23 - 1));
      rest = rest.subspan(vocabulary);
    }
  }

  const DecoderScript script_;
  const ScriptedForm form_;
  const DecoderInfo info_;
  Clock& clock_;
  int64_t blocks_ = 0, steps_ = 0;
  std::vector<uint64_t> slots_;  // [block, token]
  std::vector<float> logits_;
  std::atomic<bool> terminated_ = false;
};

}  // namespace

Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, Clock& clock) {
  const TimePoint begin = clock.now();
  RIDGE_ASSIGN(DecoderScript script, read_decoder_script(plan.folder));
  if (script.load_ms > 0) clock.sleep_until(begin + from_seconds(script.load_ms / 1000));
  const ScriptedForm form = form_of(script, plan);
  for (const std::string& failure : {script.fail_load, form.fail})
    if (!failure.empty()) return Error{Code::kFailed, failure};
  DecoderInfo info;
  info.engine = engine_info();
  info.engine.load_time = clock.now() - begin;
  info.engine.threads = std::max(plan.threads, 1);
  info.vocabulary = script.vocabulary;
  info.context = script.context;
  info.cache = {script.block_tokens, script.bytes_per_block};
  info.weight_bytes = script.weight_bytes;
  return std::unique_ptr<Decoder>(std::make_unique<FakeDecoder>(std::move(script), form, std::move(info), clock));
}

std::vector<float> expected_logits(std::span<const int32_t> tokens, int64_t vocabulary) {
  std::vector<float> row(static_cast<size_t>(vocabulary));
  write_logits(seen_after(tokens), row);
  return row;
}

int32_t expected_next(std::span<const int32_t> tokens, int64_t vocabulary) {
  return next_after(seen_after(tokens), vocabulary);
}

}  // namespace ridge::engine::fake
