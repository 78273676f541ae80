#include "cli/roofline_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace ridge::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 100 GFLOP/s and 10 GB/s: ridge point 10.
predict::Forecast forecast_with(std::vector<predict::Forecast::Layer> layers) {
  predict::Forecast forecast;
  forecast.peak_flops_per_s = 1e11;
  forecast.roofs = {{"L2", 1e11}, {"DRAM", 1e10}};
  forecast.ridge_point = 10;
  forecast.layers = std::move(layers);
  return forecast;
}

predict::Forecast::Layer layer(double intensity, double flops, double bound_ms) {
  predict::Forecast::Layer layer;
  layer.flops = flops;
  layer.intensity = intensity;
  layer.bound_ms = bound_ms;
  return layer;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Row and column of the first `mark`; -1 if there is none.
std::pair<int, int> find(const std::vector<std::string>& lines, char mark) {
  for (size_t row = 0; row < 16; ++row)
    if (size_t column = lines[row].find(mark, 14); column != std::string::npos)
      return {static_cast<int>(row), static_cast<int>(column)};
  return {-1, -1};
}

TEST(RooflineChart, PutsALayerOnTheSlopeLeftOfTheRidgePoint) {
  // 1 FLOP/byte at 10 GB/s: 10 GFLOP/s. The other one is at the peak, right of the ridge point.
  auto lines = lines_of(roofline_chart(forecast_with({layer(1, 1e10, 1000), layer(100, 1e9, 10)}), {.unicode = false}));
  auto [slope_row, slope_column] = find(lines, '@');
  auto [peak_row, peak_column] = find(lines, '.');
  ASSERT_GE(slope_row, 0);
  ASSERT_GE(peak_row, 0);
  EXPECT_GT(slope_row, peak_row);
  EXPECT_LT(slope_column, peak_column);
  int ridge = static_cast<int>(lines[16].find('^'));
  EXPECT_GT(ridge, slope_column);
  EXPECT_LT(ridge, peak_column);
  EXPECT_THAT(lines[slope_row], HasSubstr("10.0 GFLOP/s"));
  EXPECT_THAT(lines[peak_row], HasSubstr("100 GFLOP/s"));
}

TEST(RooflineChart, MarksGrowWithTheShareOfTime) {
  std::string text =
      roofline_chart(forecast_with({layer(1, 1e10, 900), layer(100, 5e9, 50), layer(1000, 1e8, 1)}), {.unicode = true});
  EXPECT_THAT(text, HasSubstr("●"));
  EXPECT_THAT(text.substr(0, text.find("FLOP/byte;")), HasSubstr("•"));
  EXPECT_THAT(text.substr(0, text.find("FLOP/byte;")), HasSubstr("∘"));
}

TEST(RooflineChart, LayersInOneCellAddUp) {
  std::vector<predict::Forecast::Layer> layers(20, layer(1, 1e9, 5));
  EXPECT_THAT(lines_of(roofline_chart(forecast_with(layers), {.unicode = false}))[7], Not(HasSubstr("o")));
  EXPECT_GE(find(lines_of(roofline_chart(forecast_with(layers), {.unicode = false})), '@').first, 0);
}

TEST(RooflineChart, KeepsToTheTerminalAndToAscii) {
  for (int columns : {20, 60, 100, 400}) {
    std::string text = roofline_chart(forecast_with({layer(1, 1e9, 5)}), {.columns = columns, .unicode = false});
    auto lines = lines_of(text);
    for (size_t i = 0; i + 1 < lines.size(); ++i)
      EXPECT_LE(lines[i].size(), static_cast<size_t>(std::clamp(columns, 40, 120))) << lines[i];
    for (char c : text) EXPECT_GE(c, 0) << text;
  }
}

TEST(RooflineChart, NamesItsSlopesAndSaysWhyALayerLiesAboveThem) {
  EXPECT_THAT(roofline_chart(forecast_with({layer(1, 1e10, 1000)}), {}),
              AllOf(HasSubstr("dotted slopes from the left: L2\n"), Not(HasSubstr("above"))));
  EXPECT_THAT(roofline_chart(forecast_with({layer(1, 1e10, 100)}), {}),
              HasSubstr("L2; above the solid slope: the data stays in a cache"));
}

// A GPU of the catalogue: its L2's capacity is known, its bandwidth is not, so the bound charges nothing for what fits.
TEST(RooflineChart, DrawsNoLayerWhereNoKnownSlopeReaches) {
  predict::Forecast catalogue = forecast_with({layer(1, 1e10, 100), layer(10, 3e10, 300)});
  catalogue.roofs = {{"DRAM", 1e10}};
  EXPECT_THAT(roofline_chart(catalogue, {}), HasSubstr("in a cache whose bandwidth is not known, not drawn: 25.0 %"));
  catalogue.layers.pop_back();
  EXPECT_THAT(roofline_chart(catalogue, {}), HasSubstr("not drawn: 100.0 %"));
}

TEST(RooflineChart, SaysWhatItCannotDraw) {
  std::string text = roofline_chart(forecast_with({layer(1, 1e9, 75), layer(0, 0, 25)}), {});
  EXPECT_THAT(text, HasSubstr("not drawn: 25.0 %"));
  EXPECT_EQ(roofline_chart(forecast_with({layer(0, 0, 25)}), {}), "");
}

}  // namespace
}  // namespace ridge::cli
