// The finished report. Pure.
#pragma once

#include "report/document.hpp"

#include <string>

namespace godwit::apps::report {

/// One HTML file that needs nothing else: no scripts, no other files. It is well-formed XML, too.
std::string html_page(const Document& document);

/// The first charts, small, side by side, as one SVG file.
std::string svg_picture(const Document& document);

}  // namespace godwit::apps::report
