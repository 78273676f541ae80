// Options about a model that several verbs take. Errors are wrong usage.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/graph.h"
#include "model/inputs.h"

namespace ridge::cli {

// Whether `engine` can be asked to compute the graph in `precision`. OpenVINO converts; elsewhere the file decides, so it must
// have weights of that type.
Status check_precision(const std::string& engine, Precision precision, const model::Graph& graph);

// The values of --engine-option KEY=VALUE.
Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options);

}  // namespace ridge::cli
