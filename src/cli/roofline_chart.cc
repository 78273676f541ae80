#include "cli/roofline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace ridge::cli {
namespace {

constexpr int kLabelColumns = 13;  // "10.0 TFLOP/s " left of the axis
constexpr int kLeastColumns = 40, kMostColumns = 120;
constexpr int kSubColumns = 2, kSubRows = 4;  // dots of a braille cell
// Share of the summed bounds from which a layer's mark grows.
constexpr double kLargeShare = 0.10, kMiddleShare = 0.01;

struct Dot {
  double intensity = 0, rate = 0, share = 0;
};

struct Layers {
  std::vector<Dot> dots;
  double share_without_flops = 0;
  double share_in_cache = 0;  // above every known slope: the data fits a cache whose bandwidth is not known
};

// The highest rate that a known slope or the peak allows at an intensity.
double roof_at(const predict::Forecast& forecast, double intensity) {
  double bandwidth = forecast.ridge_point > 0 ? forecast.peak_flops_per_s / forecast.ridge_point : 0;
  for (const auto& roof : forecast.roofs) bandwidth = std::max(bandwidth, roof.bytes_per_s);
  return std::min(forecast.peak_flops_per_s, intensity * bandwidth);
}

Layers layers_of(const predict::Forecast& forecast) {
  Layers layers;
  double total_ms = 0;
  for (const auto& layer : forecast.layers) total_ms += layer.runs ? layer.bound_ms : 0;
  for (const auto& layer : forecast.layers) {
    if (!layer.runs || layer.bound_ms <= 0) continue;
    double share = layer.bound_ms / total_ms;
    const double rate = 1e3 * layer.flops / layer.bound_ms;
    if (layer.flops <= 0 || layer.intensity <= 0)
      layers.share_without_flops += share;
    else if (forecast.roofs.size() < 2 && rate > 1.01 * roof_at(forecast, layer.intensity) &&
             rate <= 1.01 * forecast.peak_flops_per_s)
      layers.share_in_cache += share;
    else
      layers.dots.push_back({layer.intensity, rate, share});
  }
  return layers;
}

// What the axes show, in decimal logarithms.
struct Window {
  double left = 0, right = 0, bottom = 0, top = 0;
  double x(double intensity) const { return (std::log10(intensity) - left) / (right - left); }
  double y(double rate) const { return (std::log10(rate) - bottom) / (top - bottom); }
  double intensity(double x) const { return std::pow(10, left + x * (right - left)); }
};

// A decade to both sides of the ridge point, and every layer.
Window window_of(const predict::Forecast& forecast, const std::vector<Dot>& dots) {
  double ridge = std::log10(forecast.ridge_point), peak = std::log10(forecast.peak_flops_per_s);
  Window window{ridge - 1, ridge + 1, peak - 1, peak};
  for (const Dot& dot : dots) {
    window.left = std::min(window.left, std::log10(dot.intensity));
    window.right = std::max(window.right, std::log10(dot.intensity));
    window.bottom = std::min(window.bottom, std::log10(dot.rate));
    window.top = std::max(window.top, std::log10(dot.rate));
  }
  window.left -= 0.1, window.right += 0.1, window.bottom -= 0.1, window.top += 0.15;
  return window;
}

// Cells of a drawing: lines as braille dots or ASCII strokes, marks above them. One thread.
class Canvas {
 public:
  Canvas(int columns, int rows, bool unicode)
      : columns_(columns), rows_(rows), unicode_(unicode), cells_(static_cast<size_t>(columns * rows)) {}

  int sub_columns() const { return columns_ * kSubColumns; }

  // `x`, `y` in [0, 1], from the lower left corner; outside nothing is drawn.
  void line(double x, double y, char stroke) {
    Cell* cell = at(x, y);
    if (cell == nullptr) return;
    auto within = [](double share, int cells, int dots) { return static_cast<int>(share * cells * dots) % dots; };
    int column = within(x, columns_, kSubColumns), row = kSubRows - 1 - within(y, rows_, kSubRows);
    // Unicode, "Braille Patterns": dots 1-3 and 7 in the left column, 4-6 and 8 in the right one.
    constexpr uint8_t kBits[kSubRows][kSubColumns] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell->dots = static_cast<uint8_t>(cell->dots | kBits[row][column]);
    cell->stroke = stroke;
  }

  void mark(double x, double y, double share) {
    if (Cell* cell = at(x, y)) cell->share += share;
  }

  std::string row(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column)
      text += cells_[static_cast<size_t>(row * columns_ + column)].text(unicode_);
    return text;
  }

 private:
  struct Cell {
    uint8_t dots = 0;
    char stroke = ' ';
    double share = 0;

    std::string text(bool unicode) const {
      if (share > 0) {
        size_t size = share >= kLargeShare ? 2 : share >= kMiddleShare ? 1 : 0;
        return std::string(unicode ? std::array{"∘", "•", "●"}[size] : std::array{".", "o", "@"}[size]);
      }
      if (dots == 0) return " ";
      if (!unicode) return std::string(1, stroke);
      // U+2800 + dots in UTF-8.
      return {'\xE2', static_cast<char>(0xA0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3F))};
    }
  };

  Cell* at(double x, double y) {
    if (!(x >= 0 && x < 1 && y >= 0 && y < 1)) return nullptr;
    int column = static_cast<int>(x * columns_), row = rows_ - 1 - static_cast<int>(y * rows_);
    return &cells_[static_cast<size_t>(row * columns_ + column)];
  }

  int columns_, rows_;
  bool unicode_;
  std::vector<Cell> cells_;
};

// min(peak, intensity · bandwidth): the outermost memory solid, nearer ones every third dot and only below the peak.
void draw_roofs(const predict::Forecast& forecast, const Window& window, Canvas& canvas) {
  int steps = canvas.sub_columns() * 4;  // avoids gaps in a steep slope
  for (size_t roof = 0; roof < forecast.roofs.size(); ++roof) {
    bool outermost = roof + 1 == forecast.roofs.size();
    for (int step = 0; step < steps; ++step) {
      double x = (step + 0.5) / steps;
      double slope = window.intensity(x) * forecast.roofs[roof].bytes_per_s;
      bool flat = slope >= forecast.peak_flops_per_s;
      if (!outermost && (flat || step / 4 % 3 != 0)) continue;
      canvas.line(x, window.y(std::min(slope, forecast.peak_flops_per_s)), flat ? '-' : outermost ? '/' : '\'');
    }
  }
}

std::string padded_left(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// The label of a row of the drawing: the peak, and each whole decade below it; of few decades also 2 and 5 times them.
std::string rate_label(const predict::Forecast& forecast, const Window& window, int row, int rows) {
  auto is_here = [&](double rate) {
    double y = window.y(rate);
    return y >= 0 && y < 1 && rows - 1 - static_cast<int>(y * rows) == row;
  };
  std::string label;
  if (is_here(forecast.peak_flops_per_s)) label = format_flops_rate(forecast.peak_flops_per_s);
  const bool few = window.top - window.bottom < 2.5;
  for (double decade = std::floor(window.bottom); label.empty() && decade <= window.top; ++decade)
    for (const double multiple : {1.0, 2.0, 5.0})
      if ((few || multiple == 1) && is_here(multiple * std::pow(10, decade)))
        label = format_flops_rate(multiple * std::pow(10, decade));
  return padded_left(label, kLabelColumns - 1) + " ";
}

// Writes `text` around `column` of `line` where there is space.
void place(std::string& line, int column, const std::string& text) {
  int begin = std::clamp(column - static_cast<int>(text.size()) / 2, 0,
                         std::max(0, static_cast<int>(line.size() - std::min(line.size(), text.size()))));
  size_t at = static_cast<size_t>(begin), length = text.size();
  size_t from = at > 0 ? at - 1 : 0;
  if (at + length > line.size() || line.substr(from, length + 2).find_first_not_of(' ') != std::string::npos) return;
  line.replace(at, length, text);
}

// The ridge point first, then the decades that fit beside it.
std::string intensity_labels(const predict::Forecast& forecast, const Window& window, int columns) {
  std::string line(static_cast<size_t>(columns), ' ');
  place(line, static_cast<int>(window.x(forecast.ridge_point) * columns),
        fmt::format("ridge {:.3g}", forecast.ridge_point));
  for (double decade = std::ceil(window.left); decade <= window.right; ++decade)
    place(line, static_cast<int>(window.x(std::pow(10, decade)) * columns), fmt::format("{:g}", std::pow(10, decade)));
  return line;
}

std::string axis(const predict::Forecast& forecast, const Window& window, int columns, bool unicode) {
  int ridge = static_cast<int>(window.x(forecast.ridge_point) * columns);
  std::string line(unicode ? "└" : "+");
  for (int column = 0; column < columns; ++column)
    line += column == ridge ? (unicode ? "┴" : "^") : (unicode ? "─" : "-");
  return line;
}

// Names of the dotted slopes, and why a layer may lie above the solid one.
std::string slopes_text(const predict::Forecast& forecast, const Layers& layers) {
  std::string text;
  for (size_t roof = 0; roof + 1 < forecast.roofs.size(); ++roof)
    text += (roof == 0 ? "; dotted slopes from the left: " : ", ") + forecast.roofs[roof].level;
  const double outermost = forecast.peak_flops_per_s / forecast.ridge_point;
  const bool above =
      std::ranges::any_of(layers.dots, [&](const Dot& dot) { return dot.rate > 1.01 * dot.intensity * outermost; });
  if (std::ranges::any_of(layers.dots, [&](const Dot& dot) { return dot.rate > 1.01 * forecast.peak_flops_per_s; }))
    text += "; above the roof: FLOPs that the bound leaves out, as those of normalisation";
  return above ? text + "; above the solid slope: the data stays in a cache" : text;
}

std::string legend(const Layers& layers, bool unicode) {
  std::string text = unicode ? "FLOP/byte; layers by share of the summed bounds: ● ≥ 10 %, • ≥ 1 %, ∘ less"
                             : "FLOP/byte; layers by share of the summed bounds: @ >= 10 %, o >= 1 %, . less";
  if (layers.share_without_flops >= 0.0005)
    text += fmt::format("; without FLOPs, not drawn: {:.1f} %", 100 * layers.share_without_flops);
  if (layers.share_in_cache >= 0.0005)
    text += fmt::format("; in a cache whose bandwidth is not known, not drawn: {:.1f} %", 100 * layers.share_in_cache);
  return text;
}

}  // namespace

std::string roofline_chart(const predict::Forecast& forecast, const ChartForm& form) {
  Layers layers = layers_of(forecast);
  if ((layers.dots.empty() && layers.share_in_cache == 0) || !(forecast.ridge_point > 0) ||
      !(forecast.peak_flops_per_s > 0))
    return "";
  Window window = window_of(forecast, layers.dots);
  int columns = std::clamp(form.columns, kLeastColumns, kMostColumns) - kLabelColumns - 1;
  Canvas canvas(columns, form.rows, form.unicode);
  draw_roofs(forecast, window, canvas);
  for (const Dot& dot : layers.dots) canvas.mark(window.x(dot.intensity), window.y(dot.rate), dot.share);
  std::string text, indent(kLabelColumns, ' ');
  for (int row = 0; row < form.rows; ++row)
    text += rate_label(forecast, window, row, form.rows) + (form.unicode ? "│" : "|") + canvas.row(row) + "\n";
  text += indent + axis(forecast, window, columns, form.unicode) + "\n";
  text += indent + " " + intensity_labels(forecast, window, columns) + "\n";
  return text + legend(layers, form.unicode) + slopes_text(forecast, layers) + "\n";
}

}  // namespace ridge::cli
