// What `godwit simulate` prints and writes. Pure.
#pragma once

#include "report/document.hpp"
#include "simulate/forecast.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace godwit::apps {

/// Receives text as it comes.
using Print = std::function<void(std::string_view)>;

/// Lines that say that all this is predicted, and of what.
std::string simulation_heading(const Forecaster& forecaster, const SimulateOptions& options);
/// The table of the *_perf programs, and which algorithm each size took.
void print_table(const Forecaster& forecaster, const SimulateOptions& options, const Print& print);
/// One column for each allowed algorithm; the fastest is marked with '*', the selector's choice with '<'.
void print_comparison(const Forecaster& forecaster, const SimulateOptions& options, const Print& print);
void print_training(const Forecaster& forecaster, const SimulateOptions& options, const Print& print);
/// Curves of all allowed algorithms and of the selector's choice, for report::html_page().
report::Document curves(const Forecaster& forecaster, const SimulateOptions& options, const std::string& command);

}  // namespace godwit::apps
