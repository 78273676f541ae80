#include "app/bench_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/decoder_model.h"
#include "app/known_machine.h"
#include "base/units.h"
#include "base/utc.h"
#include "llm/cpu/kept_steps.h"

namespace ridge::app {
namespace {

constexpr double kMostOfMemory = 0.8;  // of what is available, that the usual batches' cache may take

double real(int64_t value) { return static_cast<double>(value); }

Status check_lengths(const DecoderBenchRequest& request, int64_t context) {
  if (request.prompt + request.generated <= context) return {};
  return invalid(fmt::format("--prompt {} and --generate {} need {} tokens; the context of {} has {}", request.prompt,
                             request.generated, request.prompt + request.generated, request.plan.folder, context));
}

double mean_cached(const measure::StepCase& size) { return real(size.past) + real(size.tokens * (size.steps - 1)) / 2; }

generate::StepPoint step_point(const DecoderPoint& p) {
  generate::StepLoad load;
  for (int64_t s = 0; s < p.sequences; ++s) load.add(real(p.tokens), p.cached);
  return {load, p.step_ms / 1e3};
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

// For `ridge plan`. A line of a machine that was busy is not kept, unless it is asked for.
void keep_line(const DecoderBenchRequest& request, const machine::Machine& machine, DecoderMeasurement& m) {
  if (!m.line.known() || m.interrupted) return;
  if (machine::disturbed(m.disturbance) && !request.keep_disturbed) {
    m.notes.push_back("The step line is not kept for ridge plan, as the machine was busy (--keep-disturbed keeps it).");
    return;
  }
  const llm::cpu::StepsOf of{config_digest(request.plan.folder), m.engine, m.weights, m.cache, request.plan.threads};
  const llm::cpu::KeptSteps kept{m.model,        m.engine_version, now_in_utc(),
                                 m.weight_bytes, m.line,           line_error_percent(m.points)};
  if (const Status done = llm::cpu::keep_steps(kept, llm::cpu::steps_file(machine.id, of)); !done)
    m.notes.push_back("The step line is not kept for ridge plan: " + done.error().message);
}

void add_limits(const machine::Machine& machine, const cost::DeviceLimits& limits, Precision precision,
                DecoderMeasurement& m) {
  m.device = limits.device;
  for (cost::DeviceLimits::Source& source : cost::sources_of(machine, limits))
    if (source.what == precision_name(cost::rate_of(limits, precision).peak) || source.what == "DRAM")
      m.limits.push_back(std::move(source));
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

double line_error_percent(std::span<const DecoderPoint> points) {
  std::vector<double> errors;
  for (const DecoderPoint& point : points)
    if (point.line_ms > 0) errors.push_back(std::abs(line_error_percent(point)));
  if (errors.empty()) return 0;
  std::ranges::sort(errors);
  return errors[(9 * errors.size() + 9) / 10 - 1];
}

std::vector<KindOfStep> steps_of(int64_t prompt, int64_t generated, std::span<const int64_t> batches) {
  std::vector<KindOfStep> steps = {{StepKind::kPrefill, {1, 0, prompt, 1}}};
  for (const int64_t batch : batches) steps.push_back({StepKind::kDecode, {batch, prompt, 1, generated}});
  const int64_t quarter = prompt / 4;
  if (quarter == 0) return steps;
  steps.push_back({StepKind::kStep, {1, 0, quarter, 1}});
  steps.push_back({StepKind::kStep, {1, prompt - quarter, quarter, 1}});
  for (const int64_t batch : batches) steps.push_back({StepKind::kStep, {batch, quarter, 1, generated}});
  return steps;
}

std::vector<DecoderPoint> points_of(std::span<const KindOfStep> steps, const measure::StepTimes& times,
                                    const llm::cpu::DecoderLimit& limit) {
  std::vector<DecoderPoint> points;
  for (size_t i = 0; i < steps.size(); ++i) {
    const measure::StepCase& size = steps[i].size;
    DecoderPoint p;
    p.kind = steps[i].kind;
    p.sequences = size.sequences;
    p.tokens = size.tokens;
    p.cached = mean_cached(size);
    p.step_ms = 1e3 * times.cases[i].seconds;
    if (!times.cases[i].ci95.empty()) p.step_ci95_ms = measure::scaled(times.cases[i].ci95, 1e3);
    p.tokens_per_s = real(size.sequences * size.tokens) / times.cases[i].seconds;
    llm::cpu::StepWork work = limit.weights();
    for (int64_t s = 0; s < size.sequences; ++s) limit.add(real(size.tokens), p.cached, 1, work);
    p.flops = work.flops;
    p.bytes = work.bytes;
    p.bound = limit.bound(work);
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
    for (size_t i = 0; i < points.size(); ++i) points[i].line_ms = 1e3 * line.seconds(measured[i].load);
  return line;
}

// read → know the machine → open → measure → set beside the limits
Result<DecoderMeasurement> bench_decoder(const DecoderBenchRequest& given, const RunControl& control) {
  DecoderBenchRequest request = given;
  RIDGE_ASSIGN(const llm::Model model, read_decoder_model(request.plan.folder));
  RIDGE_ASSIGN(request.plan.engine, decoder_engine(request.plan.engine));
  RIDGE_ASSIGN(request.plan.weights, engine::form_of(request.plan.folder, request.weights));
  if (model.context > 0) RIDGE_TRY(check_lengths(request, model.context));
  RIDGE_ASSIGN(const machine::Machine machine, know_machine(request.fresh, control));
  if (request.plan.threads == 0) request.plan.threads = machine::usable_threads(machine);
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine, request.plan.threads));
  control.report("open " + request.plan.folder, 0);
  RIDGE_ASSIGN(const std::unique_ptr<engine::Decoder> decoder, engine::open_decoder(request.plan, *control.clock));
  const engine::DecoderInfo& info = decoder->info();
  RIDGE_TRY(check_lengths(request, info.context));
  DecoderMeasurement m;
  describe_decoder(request, info, m);
  m.parameters = llm::parameters_of(model).total;
  const std::vector<int64_t> batches = batches_within(request, info.cache, free_bytes(machine.memory), m.notes);
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
  m.points = points_of(steps, times,
                       llm::cpu::DecoderLimit(model, request.plan.weights, request.plan.cache, info.weight_bytes,
                                              limits, machine::quota_factor(machine, request.plan.threads)));
  m.line = fit_line(m.points);
  add_limits(machine, limits, llm::cpu::arithmetic_of(request.plan.weights), m);
  keep_line(request, machine, m);
  return m;
}

}  // namespace ridge::app
