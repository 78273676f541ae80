// The result of one check: a verdict with its evidence and remedy. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

// By severity, worst first.
enum class Verdict {
  kFail,  // the machine cannot do its work, or does it at a fraction of its speed
  kWarn,  // it works, but something slows it down or may break
  kOk,
  kNotApplicable,  // does not apply here, or unknown: the evidence says why
};
NameTable<Verdict> names_of(Verdict);
std::string_view verdict_name(Verdict verdict);  // "fail", "warn", "ok", "not_applicable"

struct Finding {
  std::string id;    // "cpu.governor", stable; for a device it contains its name: "gpu.0.throttle"
  std::string area;  // "cpu"
  Verdict verdict = Verdict::kOk;
  std::string title;     // the check: "clock governor"
  std::string evidence;  // the observation, with units
  std::string remedy;    // the remedy, in a sentence; empty unless warn or fail
  std::string command;   // the line of a shell that is the remedy, or begins it; empty: none
  std::string origin;    // source of the evidence: a file, a tool, or "measured: …"
};
void visit_fields(auto& visit, Is<Finding> auto& finding) {
  visit("id", finding.id);
  visit("area", finding.area);
  visit("verdict", finding.verdict);
  visit("title", finding.title);
  visit("evidence", finding.evidence);
  visit("remedy", finding.remedy);
  visit("command", finding.command);
  visit("origin", finding.origin);
}

// All findings, and the answer to "is this machine ready, and what holds it back?".
struct Diagnosis {
  std::vector<Finding> findings;  // by area in the order of the areas; within an area the worst first
  int fails = 0, warnings = 0, ok = 0, not_applicable = 0;
  bool ready = true;    // nothing failed
  std::string summary;  // the answer in a sentence or two
};
void visit_fields(auto& visit, Is<Diagnosis> auto& diagnosis) {
  visit("ready", diagnosis.ready);
  visit("summary", diagnosis.summary);
  visit("fail", diagnosis.fails);
  visit("warn", diagnosis.warnings);
  visit("ok", diagnosis.ok);
  visit("not_applicable", diagnosis.not_applicable);
  visit("findings", diagnosis.findings);
}

// Sorts and counts; `areas` gives the order of the areas.
Diagnosis diagnose(std::vector<Finding> findings, const std::vector<std::string_view>& areas);

Json to_json(const Diagnosis& diagnosis);

}  // namespace ridge::doctor
