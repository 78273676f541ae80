#include "cost/einsum.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ridge::cost {
namespace {

// Dimensions under "..." get labels of their own, counted from the right as broadcasting does.
constexpr int kEllipsis = 1000;

using Labels = std::vector<int>;
using Extents = std::map<int, double>;

bool read_term(std::string_view term, const Shape& shape, Labels& labels) {
  size_t dots = term.find("...");
  size_t letters = term.size() - (dots == std::string_view::npos ? 0 : 3);
  if (letters > shape.size()) return false;
  size_t covered = shape.size() - letters;
  if (dots == std::string_view::npos && covered != 0) return false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i != dots) {
      labels.push_back(term[i]);
      continue;
    }
    for (size_t j = 0; j < covered; ++j) labels.push_back(kEllipsis + static_cast<int>(covered - j));
    i += 2;
  }
  return labels.size() == shape.size();
}

std::vector<std::string> split_terms(std::string_view left) {
  std::vector<std::string> terms(1);
  for (char c : left) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

// Without "->": the labels that occur once, after those of the ellipsis.
std::set<int> implicit_output(const std::vector<Labels>& inputs) {
  std::map<int, int> seen;
  for (const Labels& labels : inputs)
    for (int label : labels) ++seen[label];
  std::set<int> output;
  for (auto [label, times] : seen)
    if (times == 1 || label > kEllipsis) output.insert(label);
  return output;
}

std::set<int> explicit_output(std::string_view right, const Extents& extents) {
  std::set<int> output;
  for (char c : right)
    if (c != '.') output.insert(c);
  if (right.find("...") != std::string_view::npos)
    for (auto [label, extent] : extents)
      if (label > kEllipsis) output.insert(label);
  return output;
}

double volume(const std::set<int>& labels, const Extents& extents) {
  double product = 1;
  for (int label : labels) product *= extents.at(label);
  return product;
}

// One contraction of `left` and `right`; `later` are the labels needed afterwards.
void contract(const std::set<int>& left, const std::set<int>& right, const std::set<int>& later, const Extents& extents,
              EinsumWork& work) {
  std::set<int> joined, summed_alone;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::inserter(joined, joined.end()));
  bool contracts = false;
  for (int label : joined) {
    bool wanted = later.contains(label), both = left.contains(label) && right.contains(label);
    if (!wanted && both) contracts = true;
    if (!wanted && !both) summed_alone.insert(label);
  }
  for (const std::set<int>* operand : {&left, &right})  // sums over one operand only come first
    if (std::any_of(operand->begin(), operand->end(), [&](int label) { return summed_alone.contains(label); }))
      work.other_flops += volume(*operand, extents);
  for (int label : summed_alone) joined.erase(label);
  (contracts ? work.macs : work.other_flops) += volume(joined, extents);
}

}  // namespace

EinsumWork einsum_work(std::string_view equation, std::span<const Shape> shapes) {
  std::string text(equation);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  size_t arrow = text.find("->");
  std::vector<std::string> terms = split_terms(std::string_view(text).substr(0, arrow));
  if (terms.size() != shapes.size()) return {};
  std::vector<Labels> inputs(terms.size());
  Extents extents;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!read_term(terms[i], shapes[i], inputs[i])) return {};
    for (size_t j = 0; j < inputs[i].size(); ++j) {
      double& extent = extents[inputs[i][j]];
      extent = std::max(extent, static_cast<double>(shapes[i][j]));
    }
  }
  std::set<int> output = arrow == std::string::npos
                             ? implicit_output(inputs)
                             : explicit_output(std::string_view(text).substr(arrow + 2), extents);
  for (int label : output)
    if (!extents.contains(label)) return {};

  EinsumWork work{.valid = true};
  std::set<int> result(inputs[0].begin(), inputs[0].end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    std::set<int> later = output;
    for (size_t j = i + 1; j < inputs.size(); ++j) later.insert(inputs[j].begin(), inputs[j].end());
    std::set<int> right(inputs[i].begin(), inputs[i].end());
    contract(result, right, later, extents, work);
    result.insert(right.begin(), right.end());
    std::erase_if(result, [&](int label) { return !later.contains(label); });
  }
  if (inputs.size() == 1 && result.size() > output.size()) work.other_flops += volume(result, extents);
  if (inputs.size() == 2) work.needed_macs = work.macs;
  return work;
}

}  // namespace ridge::cost
