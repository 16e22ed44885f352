#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/data_warnings.hpp>
#include <codec/turbo/decoder.hpp>
#include <cstring>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>

namespace framewire::codec::turbo {
namespace {

/// A sequential file's head with this file's geometry and quantisers. With it libjpeg gets ready to
/// transform blocks without reading several scans first.
std::vector<std::uint8_t> sequential_header(const jpeg::JpegFile& file) {
  std::vector<std::uint8_t> out;
  jpeg::FrameSpec frame;
  frame.marker = jpeg::marker::kSof1;
  frame.width_px = file.frame.width_px;
  frame.height_px = file.frame.height_px;
  frame.component_count = file.frame.component_count;
  jpeg::ScanSpec scan;
  scan.component_count = frame.component_count;
  jpeg::write_marker(out, jpeg::marker::kSoi);
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    const auto quantiser = static_cast<std::size_t>(file.component_quant[i]);
    jpeg::write_dqt(out, static_cast<int>(i), file.quant_tables[quantiser]);
    frame.h[i] = file.frame.components[i].h;
    frame.v[i] = file.frame.components[i].v;
    frame.quant_index[i] = static_cast<std::uint8_t>(i);
    scan.id[i] = frame.id[i];
  }
  jpeg::write_sof(out, frame);
  jpeg::write_sos(out, scan);
  jpeg::write_eoi(out);
  return out;
}

}  // namespace

Decoder::Decoder(const jpeg::JpegFile& file, const Context& context, Attempt& attempt)
    : file_(file), context_(context), attempt_(attempt), errors_(context.strict) {
  cinfo_.err = errors_.manager();
}

Decoder::~Decoder() { jpeg_destroy_decompress(&cinfo_); }

Result<std::unique_ptr<Decoder>> Decoder::open(const jpeg::JpegFile& file,
                                               const plan::Scales& scales,
                                               std::span<const int> wanted, const Context& context,
                                               Attempt& attempt) {
  std::unique_ptr<Decoder> decoder(new Decoder(file, context, attempt));
  if (!decoder->start(scales, wanted)) return fail(decoder->errors_.status());
  decoder->install_transforms();
  return decoder;
}

bool Decoder::start(const plan::Scales& scales, std::span<const int> wanted) {
  if (attempt_.entropy == EntropyDecoder::kOwn && file_.scans.size() <= context_.max_scans &&
      OwnEntropySource::accepts(file_)) {
    own_ = std::make_unique<OwnEntropySource>(file_, context_.helpers);
    if (reads_all_first()) header_ = sequential_header(file_);
  }
  const bool opened = errors_.guarded([&] {
    jpeg_create_decompress(&cinfo_);
    read_header(file_.bytes.first(file_.end_offset));
    if (!header_.empty()) {  // the file's own header was read before, for its warnings
      jpeg_destroy_decompress(&cinfo_);
      jpeg_create_decompress(&cinfo_);
      read_header(header_);
    }
    cinfo_.raw_data_out = TRUE;
    cinfo_.out_color_space = cinfo_.jpeg_color_space;
    cinfo_.dct_method = JDCT_ISLOW;
    cinfo_.do_block_smoothing = FALSE;
    // Always full scale: at 1/8 libjpeg drops AC coefficients, which blocks cut by the picture's
    // edge need; prepare_component() sets each component's own scale.
    cinfo_.scale_num = cinfo_.scale_denom = 8;
    jpeg_start_decompress(&cinfo_);
  });
  if (!opened) return false;
  if (cinfo_.num_components != file_.frame.component_count) {
    return errors_.guarded([&] {
      errors_.leave(StatusCode::kInvalidInput, "two readings of the frame header differ");
    });
  }
  band_count_ = static_cast<std::int32_t>(cinfo_.total_iMCU_rows);
  for (int i = 0; i < cinfo_.num_components; ++i) {
    prepare_component(i, scales[static_cast<std::size_t>(i)],
                      std::find(wanted.begin(), wanted.end(), i) != wanted.end());
  }
  return true;
}

void Decoder::read_header(std::span<const std::uint8_t> bytes) {
  cinfo_.client_data = this;
  source_.attach(&cinfo_, bytes, [](j_decompress_ptr cinfo) {
    static_cast<Decoder*>(cinfo->client_data)->check_deadline();
  });
  progress_.progress_monitor = &on_progress;
  cinfo_.progress = &progress_;
  jpeg_read_header(&cinfo_, TRUE);
}

void Decoder::prepare_component(int index, int scale, bool wanted) {
  const auto at = static_cast<std::size_t>(index);
  jpeg_component_info& info = cinfo_.comp_info[index];
  const jpeg::Component& geometry = file_.frame.components[at];
  ComponentState& c = components_[at];
  c.scale = scale;
  c.wanted = wanted;
  c.width_px = base::ceil_div(geometry.width_px * scale, 8);
  c.height_px = base::ceil_div(geometry.height_px * scale, 8);
  c.rows_per_band = info.v_samp_factor * scale;
  c.last_block_column = (geometry.width_px - 1) / 8;
  c.last_block_row = (geometry.height_px - 1) / 8;
  c.last_block_columns = (geometry.width_px - 1) % 8 + 1;
  c.last_block_rows = (geometry.height_px - 1) % 8 + 1;
  info.component_needed = wanted ? TRUE : FALSE;
  info.DCT_scaled_size = scale;
  // With a single scan libjpeg places blocks by MCU_sample_width. With several scans it does not,
  // and a component without a scan has no MCU width.
  if (!cinfo_.inputctl->has_multiple_scans) info.MCU_sample_width = info.MCU_width * scale;
  c.has_quantiser = info.quant_table != nullptr;
  if (c.has_quantiser) c.dequantiser = make_scaled_dequantiser(info.quant_table->quantval);
  const auto rows = static_cast<std::size_t>(c.rows_per_band);
  const std::size_t pitch = static_cast<std::size_t>(info.width_in_blocks) * 8 + 64;
  c.rows.assign(rows, nullptr);
  if (wanted) {
    c.storage.assign(rows * pitch, 128);
    for (std::size_t r = 0; r < rows; ++r) c.rows[r] = c.storage.data() + r * pitch;
  }
  row_arrays_[at] = c.rows.data();
}

void Decoder::install_transforms() {
  for (int i = 0; i < cinfo_.num_components; ++i) {
    ComponentState& c = components_[static_cast<std::size_t>(i)];
    c.full_transform = cinfo_.idct->inverse_DCT[i];
    if (!c.wanted || c.scale != 8) cinfo_.idct->inverse_DCT[i] = &on_block;
  }
}

void Decoder::restrict_to(int component, const BlockRegion& region) {
  components_[static_cast<std::size_t>(component)].region = region;
  cinfo_.idct->inverse_DCT[component] = &on_block;
}

void Decoder::on_block(j_decompress_ptr cinfo, jpeg_component_info* component, JCOEFPTR block,
                       JSAMPARRAY rows, JDIMENSION column) {
  const Decoder& self = *static_cast<const Decoder*>(cinfo->client_data);
  const ComponentState& c = self.components_[static_cast<std::size_t>(component->component_index)];
  if (!c.wanted) return;
  if (!c.has_quantiser) {  // no scan delivered this component, so its coefficients are zero
    for (int r = 0; r < c.scale; ++r) {
      std::memset(rows[r] + column, 128, static_cast<std::size_t>(c.scale));
    }
    return;
  }
  const auto block_column = static_cast<std::int32_t>(column) / c.scale;
  const auto row_in_band = static_cast<std::int32_t>(rows - c.rows.data());
  const std::int32_t block_row = (self.band_ * c.rows_per_band + row_in_band) / c.scale;
  const BlockRegion& region = c.region;
  if (block_row < region.first_row || block_row >= region.end_row ||
      block_column < region.first_column || block_column >= region.end_column) {
    return;
  }
  if (c.scale == 8) return c.full_transform(cinfo, component, block, rows, column);
  const int columns = block_column == c.last_block_column ? c.last_block_columns : 8;
  const int valid_rows = block_row == c.last_block_row ? c.last_block_rows : 8;
  if (columns < 8 || valid_rows < 8) {
    return idct_partial(block, c.dequantiser, c.scale, columns, valid_rows, rows, column);
  }
  idct_run(block, 1, c.dequantiser, c.scale, rows, column);
}

void Decoder::check_deadline() {
  if (context_.deadline.passed()) {
    errors_.leave(StatusCode::kDeadline, "the time allowed ran out while decoding");
  }
}

void Decoder::on_progress(j_common_ptr cinfo) {
  auto& self = *static_cast<Decoder*>(cinfo->client_data);
  self.check_deadline();
  const auto scans = static_cast<std::uint32_t>(self.cinfo_.input_scan_number);
  if (scans > self.context_.max_scans) {
    self.errors_.leave(StatusCode::kTooLarge, "the file has more scans than max-scans allows");
  }
}

Result<bool> Decoder::read() {
  if (band_ + 1 >= band_count_) return false;
  ++band_;
  if (own_ != nullptr) {
    if (auto done = read_own(this); !done) return fail(done.error());
    return true;
  }
  const bool ok = errors_.guarded([&] {
    on_progress(reinterpret_cast<j_common_ptr>(&cinfo_));
    const auto lines =
        static_cast<JDIMENSION>(cinfo_.max_v_samp_factor * cinfo_.min_DCT_scaled_size);
    jpeg_read_raw_data(&cinfo_, row_arrays_.data(), lines);
  });
  if (!ok) return fail(errors_.status());
  return true;
}

Result<void> Decoder::read_own(BlockSink* sink) {
  if (context_.deadline.passed()) {
    return fail(StatusCode::kDeadline, "the time allowed ran out while decoding");
  }
  if (own_->read(sink)) return {};
  attempt_.damaged = true;
  return fail(StatusCode::kInternal, "damaged data met a decoder of clean files");
}

/// Whether libjpeg reads all scans before it gives the first row.
bool Decoder::reads_all_first() const {
  return file_.frame.process == jpeg::Process::kProgressive || file_.scans.size() > 1;
}

Result<std::vector<Warning>> Decoder::check_rest() {
  DataFindings found;
  if (own_ != nullptr) {
    for (; reads_all_first() && band_ + 1 < band_count_; ++band_) {
      if (auto done = read_own(nullptr); !done) return fail(done.error());
    }
    found.leftover = band_ + 1 == band_count_ && own_->has_leftover();
  } else {
    found.damaged = attempt_.damaged;
  }
  return complete_warnings(errors_.warnings(), found, context_.strict);
}

void Decoder::blocks(int component, int row, std::int32_t column, const CoefficientBlock* blocks,
                     int count) {
  const ComponentState& c = components_[static_cast<std::size_t>(component)];
  if (!c.wanted) return;
  const std::int32_t block_row = band_ * (c.rows_per_band / c.scale) + row;
  if (block_row < c.region.first_row || block_row >= c.region.end_row) return;
  const std::int32_t left_out = std::clamp(c.region.first_column - column, 0, count);
  column += left_out;
  blocks += left_out;
  count = std::min(count - left_out, std::max(0, c.region.end_column - column));
  jpeg_component_info* info = cinfo_.comp_info + component;
  const inverse_DCT_method_ptr transform = c.scale == 8 ? c.full_transform : &on_block;
  JSAMPARRAY rows = row_arrays_[static_cast<std::size_t>(component)] + row * c.scale;
  const auto at = [&](int i) { return static_cast<JDIMENSION>((column + i) * c.scale); };
  int done = 0;
  if (c.scale != 8) {
    done = count_whole(c, row, column, count);
    idct_run(blocks->at.data(), static_cast<std::uint32_t>(done), c.dequantiser, c.scale, rows,
             at(0));
  }
  for (int i = done; i < count; ++i) {
    // libjpeg's transforms only read their blocks, though C's type does not say so.
    transform(&cinfo_, info, const_cast<JCOEFPTR>(blocks[i].at.data()), rows, at(i));
  }
}

/// How many of these blocks, from the first on, lie wholly inside the picture.
int Decoder::count_whole(const ComponentState& c, int row, std::int32_t column, int count) const {
  const std::int32_t block_row = band_ * (c.rows_per_band / c.scale) + row;
  if (block_row == c.last_block_row && c.last_block_rows < 8) return 0;
  const bool cut = column + count > c.last_block_column && c.last_block_columns < 8;
  return cut ? c.last_block_column - column : count;
}

RowBand Decoder::band(int component) const {
  const ComponentState& c = components_[static_cast<std::size_t>(component)];
  RowBand band;
  band.first_row = band_ * c.rows_per_band;
  band.row_count = std::clamp(c.height_px - band.first_row, 0, c.rows_per_band);
  band.rows =
      std::span<std::uint8_t* const>(c.rows).first(static_cast<std::size_t>(band.row_count));
  return band;
}

}  // namespace framewire::codec::turbo
