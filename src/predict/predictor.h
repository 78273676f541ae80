// Predictor: from timed kernels to the time of any kernel.
//
// Per kind of kernel, time = constant + Σ coefficient · term, coefficients ≥ 0 fitted to relative errors (terms:
// kernel_work.h), outliers weighing less; then a correction by the fit's error for the nearest timed kernels. An operator
// without timing is predicted from all timed elementwise ones. Immutable; pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/efficiency.h"
#include "predict/kernel_work.h"

namespace ridge::predict {

struct KernelTime {
  double us = 0;
  double error = 0;   // expected, relative: 0.1 = ±10 % (one standard deviation)
  bool known = true;  // false: this kind of kernel was not timed
};

class Predictor {
 public:
  // `device` with the calibration's threads.
  Predictor(const Calibration& calibration, const KernelDevice& device);

  KernelTime time_of(const Kernel& kernel, double footprint_bytes) const;
  // The same on a different device (fewer bytes per second for each of several instances, another cache).
  KernelTime time_of(const Kernel& kernel, double footprint_bytes, const KernelDevice& device) const;

  const KernelDevice& device() const { return device_; }
  double dispatch_us() const { return dispatch_us_; }  // what a run takes per kernel beside the kernels

 private:
  struct Neighbour {
    std::vector<double> place;
    double residual = 0;  // logarithm of measured over fitted
  };
  struct Fit {
    std::vector<std::string> terms;  // the first is the constant
    std::vector<double> coefficients;
    std::vector<Neighbour> neighbours;
    double error = 0;
  };
  struct Example {
    KernelWork work;
    double us = 0;
    int sample = 0;
  };

  static Fit fit(const std::vector<const Example*>& examples, bool elementwise);
  static double raw_us(const Fit& fit, const KernelWork& work);
  static double correction(const Fit& fit, const std::vector<double>& place);
  void learn(const std::vector<Example>& examples);
  void find_overheads(const Calibration& calibration);
  const Fit* find(const std::string& kind) const;

  KernelDevice device_;
  std::map<std::string, Fit> fits_;
  Fit general_;            // for kinds without examples
  double profile_us_ = 0;  // what looking at the clock adds to a kernel in a profile
  double dispatch_us_ = 0;
};

}  // namespace ridge::predict
