// The user's own metric (`ridge tune --eval CMD`): a command that judges a model file and prints one number.
//
// The command runs without a shell: it is split at blanks, with '…', "…" and \ to keep blanks; only the word part
// {model} is expanded, to the path of the model file. If no word has it, the path is appended as the last argument. The
// environment is that of ridge and
//   RIDGE_MODEL      path of the model file             RIDGE_ENGINE     "onnxruntime", "openvino"
//   RIDGE_VARIANT    "fp32", "int8", …                  RIDGE_PRECISION  arithmetic precision requested of the engine
//   RIDGE_DEVICE     "cpu"                              RIDGE_THREADS    per session; 0 = the engine's own choice
//   RIDGE_PLAN       the whole plan as JSON             RIDGE_ENGINE_LIBRARY  path, or empty
// Standard input is empty, standard error is ridge's own. The last nonblank line of standard output must be one number;
// higher is better. The exit status must be 0.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "plan/plan.h"

namespace ridge::precision {

struct EvaluationOptions {
  std::string command;
  std::optional<double> least;  // --eval-min: a model with less fails
  std::optional<double> drop;   // --eval-drop: allowed loss against the FP32 model's number, in the metric's own unit
  double seconds = 600;         // for one run of the command; then it is killed with all its children
  std::function<bool()> interrupted;  // polled; kills the command, too; may be empty
};

// Without --eval-min and --eval-drop: 1 % of the FP32 model's number may be lost (MLPerf Inference requires quantised
// models to reach 99 % of the FP32 reference accuracy: MLCommons, "MLPerf Inference Rules", quality targets).
constexpr double kDefaultDropShare = 0.01;

// Errors: an empty command, an unclosed quote.
Result<std::vector<std::string>> split_command(const std::string& command);

// The command's number for that plan's model. Errors, each with the command's name: not found, exit status, killed by a
// signal, no number, kTimeout, kCancelled.
Result<double> evaluate(const EvaluationOptions& options, const plan::Plan& plan, const std::string& variant);

// The number on the last nonblank line of `output`.
Result<double> number_in(const std::string& output);

struct EvaluationVerdict {
  double reference = 0, score = 0;
  double least = 0;  // that was allowed
  bool holds = false;
  std::string sentence;
};
void visit_fields(auto& visit, Is<EvaluationVerdict> auto& verdict) {
  visit("reference", verdict.reference);
  visit("score", verdict.score);
  visit("least", verdict.least);
  visit("holds", verdict.holds);
  visit("sentence", verdict.sentence);
}
EvaluationVerdict judge_score(double reference, double score, const EvaluationOptions& options);

}  // namespace ridge::precision
