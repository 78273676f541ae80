#include "doctor/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "doctor/areas.h"
#include "engine/providers.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {
namespace {

constexpr const char* kEnginesArea = "engines";
constexpr double kSlowSeconds = 15;  // a trial longer than a usual cold start of CUDA (5 to 15 s)

Finding judge_engine(const EngineFacts& engine) {
  Finding finding = about(kEnginesArea, engine.name, engine.name, "loaded in a child process");
  if (!engine.failure.empty() && engine.optional)
    return not_applicable(finding, engine.failure + " (a second engine; ridge works without it)");
  if (!engine.failure.empty())
    return fail(finding, engine.failure,
                "install it (pip install onnxruntime), or name its library by RIDGE_ONNXRUNTIME");
  return ok(finding, fmt::format("{} at {}", engine.version, engine.library));
}

// True with a GPU of the provider's vendor.
bool has_gpu_for(const std::string& provider, const machine::Tree& tree) {
  const std::string_view vendor = engine::gpu_vendor_of(provider);
  const std::vector<machine::PciGpu> gpus = machine::pci_gpus(tree);
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](const machine::PciGpu& gpu) { return machine::vendor_name(gpu.vendor) == vendor; });
}

Finding judge_provider(const EngineFacts& engine, const ProviderFacts& provider, const machine::Tree& tree) {
  Finding finding = about(kEnginesArea, engine.name + "." + provider.name, provider.name + " of " + engine.name,
                          "measured: a small model was run on it");
  if (provider.ran) {
    std::string evidence = "ran the probe model";
    if (!provider.reason.empty()) evidence += "; " + provider.reason;
    if (provider.seconds < kSlowSeconds) return ok(finding, evidence);
    return warn(finding, fmt::format("{}; slow: {:.0f} s with loading its libraries", evidence, provider.seconds),
                "again: a second start reads the libraries from memory. If it stays slow, put them on a local disk");
  }
  if (!provider.asked) return not_applicable(finding, provider.reason);
  const std::string remedy =
      "install what the reason names (ridge doctor --area versions shows the matching row), or do not request this "
      "provider: "
      "the engine would silently fall back to the CPU";
  if (provider.wanted || has_gpu_for(provider.name, tree)) return fail(finding, provider.reason, remedy);
  return not_applicable(finding, "compiled in, but does not run here: " + provider.reason);
}

// The rate shows the units that the engine used: a rate above the narrower units' limit proves the wider ones.
Finding judge_instructions(const EngineFacts& engine, const Facts& facts) {
  Finding finding = about(kEnginesArea, engine.name + ".isa", "vector units that " + engine.name + " uses",
                          "measured: FP32 matrix multiplication, one thread");
  if (engine.gemm_flops_per_s <= 0)
    return not_applicable(finding, "the engine's matrix multiplication was not measured");
  std::string evidence = "matrix multiplication " + format_flops_rate(engine.gemm_flops_per_s);
  std::optional<machine::Peak> limit =
      facts.machine ? machine::peak(*facts.machine, Precision::kFp32, 1) : std::nullopt;
  if (!limit)
    return not_applicable(finding, evidence + "; the machine's peak has not been measured: run without --no-measure");
  double share = engine.gemm_flops_per_s / limit->flops_per_s;
  evidence += fmt::format(", {:.0f} % of the peak {} ({}, {})", 100 * share, format_flops_rate(limit->flops_per_s),
                          limit->kernel, origin_name(limit->origin));
  // Units of half the width reach at most half of the peak.
  if (share > 0.55) return ok(finding, evidence + ": more than half-width units can reach, so it uses these");
  return warn(finding, evidence + ": half-width units would suffice",
              "look for other work on the machine; try a newer release of the engine, or another engine");
}

}  // namespace

Findings judge_engines(const Facts& facts) {
  Result<Json> json = machine::json_at(facts.tree, entry::kEngines);
  Finding whole = about(kEnginesArea, "engines", "engines", "loaded in a child process");
  if (!json) {
    std::string reason = machine::reason_at(facts.tree, entry::kEngines);
    if (!facts.tree.missing.contains(entry::kEngines)) return {not_applicable(whole, reason)};
    return {fail(whole, reason, "run ridge bench on a model to see where it fails")};
  }
  Result<std::vector<EngineFacts>> engines = from_json<std::vector<EngineFacts>>(*json);
  if (!engines) return {not_applicable(whole, engines.error().message)};
  Findings findings;
  for (const EngineFacts& engine : *engines) {
    findings.push_back(judge_engine(engine));
    if (!engine.failure.empty()) continue;
    for (const ProviderFacts& provider : engine.providers)
      findings.push_back(judge_provider(engine, provider, facts.tree));
    findings.push_back(judge_instructions(engine, facts));
  }
  return findings;
}

}  // namespace ridge::doctor
