#include "doctor/gather_engines.h"

#include <fmt/format.h>
#include <cstdlib>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/child_process.h"
#include "base/letter_case.h"
#include "base/temporary_folder.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/providers.h"
#include "plan/plan.h"
#include "zoo/builder.h"
#include "zoo/writer.h"

namespace ridge::doctor {
namespace {

constexpr int64_t kSmall = 64;  // rows of the model that providers are tried with
// Rows of the timed one: 2 · 384³ = 0.11 GFLOP, about a millisecond, so that some runs fall between two interruptions.
constexpr int64_t kLarge = 384;
constexpr int kTimedRuns = 60;

// "version\nlibrary\nprovider\nprovider…"
Result<std::string> describe_engine(const plan::Plan& plan) {
  RIDGE_ASSIGN(engine::Info info, engine::find_engine(plan));
  std::string text = info.version + "\n" + info.library + "\n";
  if (!engine::named(plan.engine).has_providers) return text;
  RIDGE_ASSIGN(std::vector<std::string> providers, engine::compiled_providers(plan));
  for (const std::string& provider : providers) text += provider + "\n";
  return text;
}

Result<std::string> run_provider(const plan::Plan& plan, const std::string& provider) {
  Status ran = engine::try_provider(plan, provider);
  if (ran) return std::string("ran");
  if (ran.error().code == Code::kUnsupported) return "not asked: " + ran.error().message;
  return ran.error();
}

// FLOP/s of the best of a few runs, on one thread.
Result<std::string> time_product(const plan::Plan& plan) {
  RIDGE_ASSIGN(std::unique_ptr<engine::Session> session, engine::open(plan));
  Shape shape = {kLarge, kLarge};
  std::vector<float> values(static_cast<size_t>(kLarge * kLarge), 0.5f);
  TensorView view{DataType::kFp32, shape, std::as_bytes(std::span(values))};
  std::vector<TensorView> inputs = {view, view};
  Nanoseconds best = Nanoseconds::max();
  for (int i = 0; i < kTimedRuns; ++i) {
    std::vector<int> wanted = {0};
    std::vector<engine::Output> outputs(1);
    engine::RunTimes times;
    RIDGE_TRY(session->run(inputs, wanted, outputs, &times));
    best = std::min(best, times.compute);
  }
  double flops = 2.0 * static_cast<double>(kLarge * kLarge * kLarge);
  return std::to_string(flops / to_seconds(best));
}

ProviderFacts gather_provider(const plan::Plan& plan, const std::string& name, bool wanted, Nanoseconds limit) {
  ProviderFacts facts;
  facts.name = name;
  facts.wanted = wanted;
  const TimePoint begin = SteadyClock::now();
  Result<std::string> ran = result_of_function(name, {.time = limit}, [&] { return run_provider(plan, name); });
  facts.seconds = to_seconds(SteadyClock::now() - begin);
  facts.ran = ran && *ran == "ran";
  facts.asked = !ran || facts.ran;
  if (!ran) facts.reason = ran.error().message;
  if (!facts.asked) facts.reason = ran->substr(ran->find(": ") + 2);
  return facts;
}

// A provider by its short name: "cuda" is CUDAExecutionProvider.
bool names(const std::string& wanted, const std::string& provider) {
  const std::string given = lower_case(wanted), full = lower_case(provider);
  return full == given || full == given + "executionprovider";
}

void gather_providers(const plan::Plan& small, const EngineQuestions& questions,
                      const std::vector<std::string>& compiled, EngineFacts& facts) {
  std::vector<std::string> missing = questions.wanted;
  for (const std::string& provider : compiled) {
    bool wanted = std::erase_if(missing, [&](const std::string& name) { return names(name, provider); }) > 0;
    facts.providers.push_back(gather_provider(small, provider, wanted, questions.limit));
  }
  for (const std::string& name : missing)
    facts.providers.push_back(
        {name, true, false, true, "not compiled into this library: install the package that includes it"});
}

// [rows, rows] times [rows, rows], both inputs, in FP32.
zoo::Blueprint matrix_multiplication(int64_t rows) {
  const std::vector<zoo::Dimension> shape = {rows, rows};
  zoo::GraphBuilder b("product", 17);
  const zoo::Value left = b.input("a", DataType::kFp32, shape), right = b.input("b", DataType::kFp32, shape);
  b.output(b.node("product", "MatMul", {left, right}, {}, "c"), DataType::kFp32, shape);
  return b.blueprint();
}

// Models for probing engines.
struct Probes {
  plan::Plan small, large;
};

Result<Probes> write_probes(const std::string& folder, const EngineQuestions& questions) {
  Probes probes;
  for (plan::Plan* plan : {&probes.small, &probes.large}) {
    const int64_t rows = plan == &probes.small ? kSmall : kLarge;
    plan->model = fmt::format("{}/{}.onnx", folder, rows);
    plan->engine_library = questions.library;
    plan->threads = 1;
    RIDGE_TRY(zoo::write(matrix_multiplication(rows), 0, plan->model));
  }
  return probes;
}

void time_large(const plan::Plan& large, Nanoseconds limit, EngineFacts& facts) {
  Result<std::string> rate =
      result_of_function("the timed matrix multiplication", {.time = limit}, [&] { return time_product(large); });
  if (rate) facts.gemm_flops_per_s = std::strtod(rate->c_str(), nullptr);
}

// Runs the small model in the plan's precision, which the engine reads back.
Result<std::string> run_precision(const plan::Plan& plan) {
  RIDGE_ASSIGN(std::unique_ptr<engine::Session> session, engine::open(plan));
  const std::vector<float> values(static_cast<size_t>(kSmall * kSmall), 0.5f);
  const TensorView view{DataType::kFp32, {kSmall, kSmall}, std::as_bytes(std::span(values))};
  const std::vector<TensorView> inputs = {view, view};
  const std::vector<int> wanted = {0};
  std::vector<engine::Output> outputs(1);
  RIDGE_TRY(session->run(inputs, wanted, outputs));
  return session->info().executed;
}

// The precisions in which the engine computes the original model.
void gather_precisions(plan::Plan small, const engine::Engine& engine, Nanoseconds limit, EngineFacts& facts) {
  for (const engine::Ability& ability : engine.abilities) {
    const Result<Precision> precision = precision_from_name(ability.variant);
    if (ability.source != engine::Source::kGiven || ability.device != plan::DeviceKind::kCpu || !precision) continue;
    small.precision = *precision;
    const std::string name(ability.variant);
    Result<std::string> ran = result_of_function(name, {.time = limit}, [&] { return run_precision(small); });
    facts.providers.push_back({name, false, ran.ok(), true, ran ? *ran : ran.error().message});
  }
}

EngineFacts gather_engine(const engine::Engine& engine, Probes probes, const EngineQuestions& questions) {
  EngineFacts facts;
  facts.name = engine.name;
  facts.optional = &engine != &engine::known().front();
  probes.small.engine = probes.large.engine = facts.name;
  Result<std::string> described = result_of_function(fmt::format("loading {}", engine.label), {.time = questions.limit},
                                                     [&] { return describe_engine(probes.small); });
  if (!described) {
    facts.failure = described.error().message;
    return facts;
  }
  std::istringstream lines(*described);
  std::getline(lines, facts.version);
  std::getline(lines, facts.library);
  std::vector<std::string> compiled;
  for (std::string line; std::getline(lines, line);) compiled.push_back(line);
  if (engine.has_providers)
    gather_providers(probes.small, questions, compiled, facts);
  else
    gather_precisions(probes.small, engine, questions.limit, facts);
  time_large(probes.large, questions.limit, facts);
  return facts;
}

}  // namespace

std::vector<EngineFacts> gather_engines(const EngineQuestions& questions) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  Result<Probes> probes = folder ? write_probes(folder->path(), questions) : Result<Probes>(folder.error());
  if (!probes) {
    EngineFacts facts;
    facts.name = engine::known().front().name;
    facts.failure = probes.error().message;
    return {facts};
  }
  std::vector<EngineFacts> all;
  for (const engine::Engine& engine : engine::known())
    if (!engine.for_tests) all.push_back(gather_engine(engine, *probes, questions));
  return all;
}

}  // namespace ridge::doctor
