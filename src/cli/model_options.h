// Options about a model that several verbs take, and what a graph answers them. Errors are wrong usage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "base/units.h"
#include "model/graph.h"

namespace ridge::cli {

// ok if every dimension of the inputs of the model at `path` has a size; else the error asks for the missing ones.
Status check_open_dimensions(const std::string& path, const model::Graph& graph);

// Whether `engine` can be asked to compute the graph in `precision`. OpenVINO converts; elsewhere the file decides, so it must
// have weights of that type.
Status check_precision(const std::string& engine, Precision precision, const model::Graph& graph);

// The values of --engine-option KEY=VALUE.
Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options);

// Name → shape of the graph's inputs.
std::map<std::string, Shape> input_shapes(const model::Graph& graph);

// The first dimension of the first input; 1 where there is none.
int64_t rows_of(const model::Graph& graph);

}  // namespace ridge::cli
