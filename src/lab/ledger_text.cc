#include "lab/ledger_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::lab {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> experiments_of(const measure::Claim& claim) {
  std::vector<std::string> names;
  for (const Experiment& experiment : all_experiments())
    if (std::find(experiment.claims.begin(), experiment.claims.end(), claim.id) != experiment.claims.end())
      names.emplace_back(experiment.name);
  return names;
}

// "12.3 GB/s against 4.56 GB/s (measured)"; or GFLOP/s.
std::string rates_text(const LedgerRow& row) {
  auto format = row.of_bytes ? format_bandwidth : format_flops_rate;
  return fmt::format("{} against {}, {} against {}", format_ms(1e3 * row.variant_seconds),
                     format_ms(1e3 * row.baseline_seconds), format(row.variant_work / row.variant_seconds),
                     format(row.baseline_work / row.baseline_seconds));
}

// "; 24 registers per thread and 100 % occupancy against 72 and 37.5 %"; empty if unknown.
std::string residency_text(const LedgerRow& row) {
  if (!row.variant_residency || !row.baseline_residency) return "";
  const gpu::Residency &one = *row.variant_residency, &other = *row.baseline_residency;
  return fmt::format("; {} registers per thread and {} occupancy against {} and {}", one.registers,
                     format_percent(one.occupancy_percent), other.registers, format_percent(other.occupancy_percent));
}

// In the claim's form: how many times as fast, how many times the time, or a share.
std::string interval_text(const LedgerRow& row) {
  measure::Ratio effect = effect_of(row.figure, row.ratio);
  if (row.figure.kind == measure::ClaimedFigure::kShare)
    return fmt::format("{:.0f} % [{:.0f} to {:.0f} %]", 100 * effect.value, 100 * effect.low, 100 * effect.high);
  return fmt::format("{:.2f} × [{:.2f} to {:.2f}]{}", effect.value, effect.low, effect.high,
                     row.figure.kind == measure::ClaimedFigure::kCost ? " the time" : "");
}

cli::Meaning meaning_of(measure::Judgement verdict) {
  switch (verdict) {
    case measure::Judgement::kConfirmed:
    case measure::Judgement::kLarger: return cli::Meaning::kOk;
    case measure::Judgement::kContradicted: return cli::Meaning::kFailed;
    default: return cli::Meaning::kWarning;
  }
}

std::string measured_text(const LedgerRow& row, size_t width) {
  std::string head = fmt::format("{}  {}: {} against {}\n", row.claim.id, row.experiment, row.variant, row.baseline);
  std::string judged = fmt::format("     {}: measured {}, claimed {}{}\n",
                                   cli::painted(meaning_of(row.verdict), verdict_name(row.verdict)), interval_text(row),
                                   figure_text(row.figure), row.converged ? "" : " (the interval stayed wide)");
  return head + judged +
         cli::paragraph("     ",
                        fmt::format("{}: {}; {}{}.", row.title, rates_text(row), row.explanation, residency_text(row)),
                        5, width);
}

}  // namespace

std::string claims_text(std::span<const measure::Claim> claims) {
  Rows rows;
  for (const measure::Claim& claim : claims) {
    std::vector<std::string> experiments = experiments_of(claim);
    std::string where = claim.elsewhere.empty() ? fmt::format("{}", fmt::join(claim.on, ", ")) : claim.elsewhere;
    rows.push_back({claim.id, claim.statement, claim.figure ? figure_text(*claim.figure) : "-",
                    experiments.empty() ? "-" : fmt::format("{}", fmt::join(experiments, ", ")), where, claim.source});
  }
  return cli::table({"id", "claim", "as a ratio", "experiment", "tested on, or elsewhere by", "source"}, rows,
                    "llr3ll2l1");
}

Json claims_json(std::span<const measure::Claim> claims) {
  Json list = Json::array();
  for (const measure::Claim& claim : claims) {
    FieldWriter visit(list.emplace_back());
    visit("id", claim.id);
    visit("statement", claim.statement);
    visit("figure", claim.figure);
    visit("experiments", experiments_of(claim));
    visit("on", claim.on);
    visit.or_null("elsewhere", claim.elsewhere);
    visit("source", claim.source);
  }
  return Json{{"claims", list}};
}

std::string ledger_text(const Ledger& ledger) {
  const size_t width = cli::prose_columns();
  std::string text =
      fmt::format("device    {}\nmeasured  ratios of speed with their 95 % interval, interleaved\n\n", ledger.device);
  if (!ledger.note.empty())
    text.insert(text.find("\n\n") + 1, cli::paragraph("note      ", ledger.note, 10, width) + "\n");
  Rows untested, unmeasured;
  for (const LedgerRow& row : ledger.rows) {
    if (!row.experiment.empty()) {
      text += measured_text(row, width) + "\n";
      continue;
    }
    Rows& rows = row.verdict == measure::Judgement::kNotMeasured ? unmeasured : untested;
    std::vector<std::string> cells = {row.claim.id, row.claim.statement, row.explanation};
    // Comparisons of one claim that lack the same have one line.
    if (std::ranges::find(rows, cells) == rows.end()) rows.push_back(std::move(cells));
  }
  if (!unmeasured.empty()) text += cli::table({"", "not measured", "why"}, unmeasured, "lll") + "\n";
  if (!untested.empty()) text += cli::table({"", "not testable here", "why, or by what it is tested"}, untested, "lll");
  if (machine::disturbed(ledger.disturbance))
    text += cli::paragraph(
        "", machine::sentence(ledger.disturbance) + ". Ratios are interleaved; their intervals are wider.", 0, width);
  if (ledger.interrupted) text += "interrupted: the other claims were not tested\n";
  while (text.ends_with("\n\n")) text.pop_back();  // one empty line before what to do next
  return text;
}

std::string occupancy_text(std::span<const catalogue::Capability> capabilities, std::span<const Occupancy> results) {
  Rows rows;
  for (size_t i = 0; i < results.size(); ++i) {
    const Occupancy& one = results[i];
    std::string more;
    if (one.registers_for_more) more = fmt::format("{} registers", *one.registers_for_more);
    if (one.shared_for_more) more = format_bytes(*one.shared_for_more) + " shared";
    auto or_dash = [](const std::optional<int>& value) { return value ? std::to_string(*value) : std::string("-"); };
    rows.push_back(
        {capabilities[i].version, capabilities[i].architecture, format_percent(one.percent), std::to_string(one.warps),
         std::to_string(one.blocks), fmt::format("{}", fmt::join(one.limiters, ", ")), std::to_string(one.by_warps),
         std::to_string(one.by_blocks), or_dash(one.by_registers), or_dash(one.by_shared), more.empty() ? "-" : more});
  }
  return cli::table({"cc", "architecture", "occupancy", "warps", "blocks", "limited by", "by warps", "by blocks",
                     "by registers", "by shared", "one block more with"},
                    rows, "ll6rr5rlr4r3r2r1l7");
}

Json occupancy_json(const KernelUse& use, std::span<const catalogue::Capability> capabilities,
                    std::span<const Occupancy> results) {
  Json json = json_of(use), list = Json::array();
  for (size_t i = 0; i < results.size(); ++i) {
    FieldWriter visit(list.emplace_back());
    visit_fields(visit, results[i]);
    visit("compute_capability", capabilities[i].version);
    visit("architecture", capabilities[i].architecture);
  }
  json["origin"] = origin_name(Origin::kDerived);
  json["occupancy"] = list;
  return json;
}

}  // namespace ridge::lab
