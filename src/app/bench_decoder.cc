#include "app/bench_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/known_machine.h"
#include "base/units.h"
#include "checkpoint/documents.h"
#include "engine/engines.h"
#include "llm/config.h"

namespace ridge::app {
namespace {

constexpr double kMostOfMemory = 0.8;  // of what is available, that the usual batches' cache may take
constexpr int64_t kShortSteps = 4;     // decodes of a short context are for the line only

// The arithmetic whose peak bounds a step: matrices of 8 and 4 bits are multiplied by activations of 8.
constexpr std::array<std::pair<engine::WeightForm, Precision>, 4> kArithmetic = {{
    {engine::WeightForm::kFp32, Precision::kFp32},
    {engine::WeightForm::kBf16, Precision::kBf16},
    {engine::WeightForm::kInt8, Precision::kInt8},
    {engine::WeightForm::kInt4, Precision::kInt8},
}};
constexpr std::array<std::pair<engine::CacheForm, double>, 3> kCacheBits = {{
    {engine::CacheForm::kFp32, 32},
    {engine::CacheForm::kBf16, 16},
    {engine::CacheForm::kU8, 8},
}};

template <typename Key, typename Value, size_t N>
Value value_of(const std::array<std::pair<Key, Value>, N>& table, Key key) {
  return std::ranges::find(table, key, &std::pair<Key, Value>::first)->second;
}

double real(int64_t value) { return static_cast<double>(value); }

Result<llm::Model> read_decoder_model(const std::string& folder) {
  RIDGE_ASSIGN(const checkpoint::ModelDocuments documents, checkpoint::model_documents(folder));
  Result<llm::Config> config = llm::config_from_json(*documents.config, documents.name);
  if (config) return std::move(config->model);
  return Error{config.error().code, fmt::format("{}; a model that is no decoder is exported first: optimum-cli export "
                                                "onnx --model {} {}/onnx",
                                                config.error().message, folder, folder)};
}

Status check_lengths(const DecoderBenchRequest& request, int64_t context) {
  if (request.prompt + request.generated <= context) return {};
  return invalid(fmt::format("--prompt {} and --generate {} need {} tokens; the context of {} has {}", request.prompt,
                             request.generated, request.prompt + request.generated, request.plan.folder, context));
}

// The engine that was named, else the first that has a decoder.
Result<std::string> decoder_engine(const std::string& named) {
  if (!named.empty()) return named;
  for (const engine::Engine& row : engine::known())
    if (row.open_decoder != nullptr && !row.for_tests) return std::string(row.name);
  return Error{Code::kUnsupported, "no engine of this program runs language models"};
}

double mean_cached(const measure::StepCase& size) { return real(size.past) + real(size.tokens * (size.steps - 1)) / 2; }

// Of one token in the layers: every matrix and vector of theirs is multiplied and added.
double layer_flops(const llm::Parameters& p) {
  return 2 * (p.attention + p.feed_forward + p.router + p.experts_used + p.small);
}

generate::StepPoint step_point(const DecoderPoint& p) {
  generate::StepLoad load;
  for (int64_t s = 0; s < p.sequences; ++s) load.add(real(p.tokens), p.cached);
  return {load.tokens, load.cached, p.step_ms / 1e3, load.pairs};
}

std::vector<measure::StepCase> sizes_of(std::span<const KindOfStep> steps) {
  std::vector<measure::StepCase> sizes;
  for (const KindOfStep& step : steps) sizes.push_back(step.size);
  return sizes;
}

// The usual batches as far as the memory takes them, at least the first; what was asked for as it is.
std::vector<int64_t> batches_within(const DecoderBenchRequest& request, const engine::CacheShape& cache,
                                    double memory_bytes, std::vector<std::string>& notes) {
  if (!request.batches.empty()) return request.batches;
  std::vector<int64_t> batches;
  for (const int64_t batch : kUsualBatches) {
    const std::array<int64_t, 1> one = {batch};
    const std::vector<measure::StepCase> sizes = sizes_of(steps_of(request.prompt, request.generated, one));
    const double bytes = real(measure::blocks_of(sizes, cache) * cache.bytes_per_block);
    if (batches.empty() || bytes <= kMostOfMemory * memory_bytes)
      batches.push_back(batch);
    else
      notes.push_back(fmt::format("a batch of {} was left out: its cache takes {}, and {} of memory are free", batch,
                                  format_bytes(bytes), format_bytes(memory_bytes)));
  }
  return batches;
}

double free_memory(const machine::Memory& memory) {
  return real(std::min(memory.available_bytes, memory.limit_bytes.value_or(memory.available_bytes)));
}

void describe_decoder(const DecoderBenchRequest& request, const engine::DecoderInfo& info, DecoderMeasurement& m) {
  m.model = request.plan.folder;
  m.engine = info.engine.name;
  m.engine_version = info.engine.version;
  m.weights = request.plan.weights;
  m.cache = request.plan.cache;
  m.threads = info.engine.threads;
  m.prompt = request.prompt;
  m.generated = request.generated;
  m.load_ms = to_ms(info.engine.load_time);
  m.weight_bytes = info.weight_bytes;
  m.cache_bytes_per_token = real(info.cache.bytes_per_block) / real(info.cache.block_tokens);
}

void add_limits(const machine::Machine& machine, const cost::DeviceLimits& limits, Precision precision,
                DecoderMeasurement& m) {
  m.device = limits.device;
  for (cost::DeviceLimits::Source& source : cost::sources_of(machine, limits))
    if (source.what == precision_name(precision) || source.what == "DRAM") m.limits.push_back(std::move(source));
  for (std::string& note : cost::notes(limits, {precision})) m.notes.push_back(std::move(note));
  if (std::ranges::any_of(m.points, [](const DecoderPoint& p) { return p.percent_of_limit > 100; }))
    m.notes.push_back(
        "More than 100 % of the limit is impossible: the stored limits of this machine are too low (ridge bench device "
        "--fresh).");
}

}  // namespace

NameTable<StepKind> names_of(StepKind) {
  static constexpr std::pair<StepKind, std::string_view> kNames[] = {
      {StepKind::kPrefill, "prefill"}, {StepKind::kDecode, "decode"}, {StepKind::kStep, "step"}};
  return kNames;
}

double line_error_percent(const DecoderPoint& point) { return 100 * (point.line_ms / point.step_ms - 1); }

std::vector<KindOfStep> steps_of(int64_t prompt, int64_t generated, std::span<const int64_t> batches) {
  std::vector<KindOfStep> steps = {{StepKind::kPrefill, {1, 0, prompt, 1}}};
  for (const int64_t batch : batches) steps.push_back({StepKind::kDecode, {batch, prompt, 1, generated}});
  const int64_t quarter = prompt / 4;
  if (quarter == 0) return steps;
  steps.push_back({StepKind::kStep, {1, 0, quarter, 1}});
  steps.push_back({StepKind::kStep, {1, prompt - quarter, quarter, 1}});
  for (const int64_t batch : batches)
    steps.push_back({StepKind::kStep, {batch, quarter, 1, std::min(generated, kShortSteps)}});
  return steps;
}

std::vector<DecoderPoint> points_of(std::span<const KindOfStep> steps, const measure::StepTimes& times,
                                    const llm::Model& model, const DecoderBenchRequest& request, int64_t weight_bytes,
                                    const cost::DeviceLimits& limits, double quota_factor) {
  const llm::Parameters parameters = llm::parameters_of(model);
  const Precision precision = value_of(kArithmetic, request.plan.weights);
  const double cache_bits = value_of(kCacheBits, request.plan.cache);
  std::vector<DecoderPoint> points;
  for (size_t i = 0; i < steps.size(); ++i) {
    const measure::StepCase& size = steps[i].size;
    const double sequences = real(size.sequences), tokens = real(size.tokens);
    DecoderPoint p;
    p.kind = steps[i].kind;
    p.sequences = size.sequences;
    p.tokens = size.tokens;
    p.cached = mean_cached(size);
    p.step_ms = 1e3 * times.cases[i].seconds;
    if (!times.cases[i].ci95.empty()) p.step_ci95_ms = measure::scaled(times.cases[i].ci95, 1e3);
    p.tokens_per_s = sequences * tokens / times.cases[i].seconds;
    // The head computes the last position only.
    p.flops = sequences *
              (tokens * layer_flops(parameters) + 2 * parameters.head + llm::attention_flops(model, tokens, p.cached));
    p.bytes = real(weight_bytes) + sequences * llm::cache_bytes(model, p.cached, cache_bits);
    p.bound = cost::bound(p.flops, p.bytes, precision, limits);
    for (double* ms : {&p.bound.ms, &p.bound.compute_ms, &p.bound.memory_ms}) *ms /= quota_factor;
    p.percent_of_limit = 100 * p.bound.ms / p.step_ms;
    points.push_back(p);
  }
  return points;
}

generate::StepLine fit_line(std::vector<DecoderPoint>& points) {
  constexpr size_t kFewest = 4;  // as generate::fit() needs
  std::vector<generate::StepPoint> measured;
  for (const DecoderPoint& point : points) measured.push_back(step_point(point));
  const generate::StepLine line = measured.size() < kFewest ? generate::StepLine() : generate::fit(measured);
  if (line.known())
    for (size_t i = 0; i < points.size(); ++i)
      points[i].line_ms = 1e3 * line.seconds(measured[i].tokens, measured[i].cached, measured[i].pairs);
  return line;
}

// read → know the machine → open → measure → set beside the limits
Result<DecoderMeasurement> bench_decoder(const DecoderBenchRequest& given, const RunControl& control) {
  DecoderBenchRequest request = given;
  RIDGE_ASSIGN(const llm::Model model, read_decoder_model(request.plan.folder));
  RIDGE_ASSIGN(request.plan.engine, decoder_engine(request.plan.engine));
  if (model.context > 0) RIDGE_TRY(check_lengths(request, model.context));
  RIDGE_ASSIGN(const machine::Machine machine, know_machine(request.fresh, request.keep_disturbed, control));
  if (request.plan.threads == 0) request.plan.threads = machine::usable_threads(machine);
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine, request.plan.threads));
  control.report("open " + request.plan.folder, 0);
  RIDGE_ASSIGN(const std::unique_ptr<engine::Decoder> decoder, engine::open_decoder(request.plan, *control.clock));
  const engine::DecoderInfo& info = decoder->info();
  RIDGE_TRY(check_lengths(request, info.context));
  DecoderMeasurement m;
  describe_decoder(request, info, m);
  m.parameters = llm::parameters_of(model).total;
  const std::vector<int64_t> batches = batches_within(request, info.cache, free_memory(machine.memory), m.notes);
  const std::vector<KindOfStep> steps = steps_of(request.prompt, request.generated, batches);
  const std::vector<measure::StepCase> sizes = sizes_of(steps);
  m.cache_bytes = measure::blocks_of(sizes, info.cache) * info.cache.bytes_per_block;
  request.how.interrupted = control.interrupted;
  request.how.progress = control.progress;
  machine::DisturbanceWatch watch;
  RIDGE_ASSIGN(const measure::StepTimes times, measure::measure_steps(*decoder, sizes, request.how, *control.clock));
  m.disturbance = watch.end();
  m.rounds = times.rounds;
  m.converged = times.converged;
  m.interrupted = times.interrupted;
  m.points = points_of(steps, times, model, request, info.weight_bytes, limits,
                       machine::quota_factor(machine, request.plan.threads));
  m.line = fit_line(m.points);
  add_limits(machine, limits, value_of(kArithmetic, request.plan.weights), m);
  return m;
}

}  // namespace ridge::app
