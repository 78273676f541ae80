// The sizing of a language model.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

std::string tokens_rate(double rate) { return format_rate(rate, "tokens"); }

std::string llm_limit_text(const cost::Bound& bound) {
  return fmt::format("limited by {}: compute {}, memory {} (derived)", cost::limiter_name(bound.limiter),
                     format_ms(bound.compute_ms), format_ms(bound.memory_ms));
}

std::string sequences_text(const llm::Forecast& f) {
  if (f.usable_bytes <= 0) return "the device's memory is not known";
  if (f.fits) return fmt::format("of {} tokens each fit at once (derived)", f.setup.context);
  return fmt::format("does not fit: weights and one sequence of {} tokens need at least {} such devices (derived)",
                     f.setup.context, f.devices_for_weights.value_or(0));
}

std::string llm_summary(const llm::Forecast& f, bool reserve_given) {
  std::string active =
      f.parameters.expert_count > 0 ? format_count(f.parameters.active) + " used per token (derived)" : "(derived)";
  std::vector<std::vector<std::string>> rows = {
      {"parameters", format_count(f.parameters.total), active},
      {"weights", format_bytes(f.weight_bytes),
       fmt::format("{}{} (derived)", f.setup.weights.name == llm::kAsStored ? "" : "as ", f.setup.weights.name)},
      {"cache", format_bytes(f.kv_bytes_per_token),
       fmt::format("per token at {:g} bits; {} per sequence of {} tokens (derived)", f.setup.kv_bits,
                   format_bytes(f.kv_bytes_per_sequence), f.setup.context)}};
  if (f.usable_bytes > 0)
    rows.push_back(
        {"usable", format_bytes(f.usable_bytes),
         fmt::format("of {}; {:g} % kept for activations and the engine ({})", format_bytes(f.setup.memory_bytes),
                     100 * f.setup.reserve, reserve_given ? "--reserve" : "assumed, --reserve")});
  rows.push_back({"sequences", f.sequences ? std::to_string(*f.sequences) : "-", sequences_text(f)});
  rows.push_back({"first token", format_ms(f.prefill.ms),
                  fmt::format("at least, for a prompt of {} tokens; {}", f.setup.prompt, llm_limit_text(f.prefill))});
  rows.push_back({"prefill", tokens_rate(f.prefill_tokens_per_s), "at most"});
  return table({}, rows, "lrl");
}

std::string here_load_text(const llm::Workload& w) {
  if (w.requests_per_s > 0) return fmt::format("{:g} requests/s", w.requests_per_s);
  return w.concurrency > 0 ? fmt::format("{} at once", w.concurrency) : std::string("requests of a trace");
}

std::string here_summary_text(const llm::Summary& summary, double bound_ms, const char* of) {
  std::string text = fmt::format("mean; median {}, p99 {}", format_ms(summary.p50), format_ms(summary.p99));
  if (bound_ms > 0) text += fmt::format("; the limit of {} {} (derived)", of, format_ms(bound_ms));
  return text;
}

// The prediction of `ridge serve` on this machine, which stands first: the rest is its limits.
std::string served_here_text(const llm::cpu::ServingHere& here) {
  const llm::Workload& w = here.workload;
  std::string text = fmt::format(
      "served here by {}, {} weights, {} cache, {}: prompts of {} to {} tokens, answers of {} to {}, {}\n", here.engine,
      name_of(names_of(here.weights), here.weights), name_of(names_of(here.cache), here.cache),
      counted(here.threads, "thread"), w.prompt_min, w.prompt_max, w.output_min, w.output_max, here_load_text(w));
  text += table({},
                {{"first token", format_ms(here.simulation.ttft_ms.mean),
                  here_summary_text(here.simulation.ttft_ms, here.ttft_bound_ms, "a prompt alone")},
                 {"each token", format_ms(here.simulation.tpot_ms.mean),
                  here_summary_text(here.simulation.tpot_ms, here.tpot_bound_ms, "a decode step")},
                 {"output", tokens_rate(here.simulation.output_tokens_per_s),
                  fmt::format("of all, {:.1f} answers under way (predicted)", here.simulation.mean_decoding)}},
                "lrl");
  const std::string error =
      fmt::format("nine in ten {} within {:.0f} %", here.measured_at.empty() ? "times" : "steps", here.error_percent);
  return text +
         (here.measured_at.empty()
              ? fmt::format("by steps estimated from this machine's limits, {}; ridge bench FOLDER measures them\n",
                            error)
              : fmt::format("by steps that ridge bench FOLDER measured {}, {}\n", here.measured_at, error));
}

}  // namespace

std::string llm_text(const app::LlmPlan& plan, bool reserve_given) {
  const llm::Forecast& f = plan.forecast;
  std::string text = fmt::format("{} · weights {} · {} · {} ({})\n", f.model, f.setup.weights.name,
                                 precision_name(f.setup.precision), f.device, origin_name(f.origin));
  if (plan.here) text += served_here_text(*plan.here) + "\n";
  text += llm_summary(f, reserve_given);
  for (const std::string& note : f.notes) text += note_text(note);
  text += fmt::format("\ndecode, every sequence holding {} tokens\n", f.setup.context) +
          figure_table("plan-language", "decode", json_of(f.decode));
  text += "\n" + figure_table("plan-language", "by_weights", json_of(plan.by_weights));
  return text + (plan.cost ? "\n" + cost_text(*plan.cost) : "");
}

std::string llm_csv(const app::LlmPlan& plan) {
  return csv_table("batch bound_ms tokens_per_s limiter bytes flops fits", json_of(plan.forecast.decode));
}

}  // namespace ridge::cli
