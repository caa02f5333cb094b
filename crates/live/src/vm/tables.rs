//! Tables of results as bytes, column by column.

use super::bytes::{Broken, Reader, Writer};
use narrows_samples::{Fault, Packed, Plain, Samples, Table};

/// Writes a table's columns.
fn write<T: Table>(out: &mut Writer, table: &T) -> Result<(), Fault> {
    out.text(T::NAME);
    out.number(table.len() as u64);
    for (_, data) in table.columns() {
        data.for_each_part(|values| {
            out.numbers(values);
            Ok(())
        })?;
    }
    Ok(())
}

/// Reads a table's columns.
fn read<T: Plain>(from: &mut Reader<'_>) -> Result<T, Broken> {
    if from.text()? != T::NAME {
        return Err(Broken);
    }
    let rows = from.count(8 * T::COLUMNS.len())?;
    let mut table = T::default();
    for column in table.columns_mut() {
        *column = (0..rows).map(|_| from.number()).collect::<Result<_, _>>()?;
    }
    Ok(table)
}

/// Reads a table over time.
fn read_packed<T: Plain>(from: &mut Reader<'_>) -> Result<Packed<T>, Broken> {
    let mut table: T = read(from)?;
    let rows = table.len();
    let columns = table.columns_mut();
    let mut packed = Packed::default();
    for row in 0..rows {
        let mut cells = T::Cells::default();
        for (cell, column) in cells.as_mut().iter_mut().zip(&columns) {
            *cell = column[row];
        }
        packed.push_cells(cells);
    }
    Ok(packed)
}

/// Writes all tables.
///
/// # Errors
/// [`Fault`] if samples cannot be read.
pub(super) fn write_all(out: &mut Writer, samples: &Samples) -> Result<(), Fault> {
    write(out, &samples.flows)?;
    write(out, &samples.queues)?;
    write(out, &samples.routers)?;
    write(out, &samples.state)?;
    write(out, &samples.subqueues)?;
    write(out, &samples.flow_totals)?;
    write(out, &samples.queue_totals)?;
    write(out, &samples.router_totals)?;
    write(out, &samples.station_totals)?;
    write(out, &samples.subqueue_totals)?;
    write(out, &samples.transfers)?;
    write(out, &samples.playback_totals)?;
    write(out, &samples.datagram_totals)?;
    write(out, &samples.impairment_totals)
}

/// Reads all tables; the rest of the samples is left empty.
///
/// # Errors
/// [`Broken`].
pub(super) fn read_all(from: &mut Reader<'_>) -> Result<Samples, Broken> {
    Ok(Samples {
        flows: read_packed(from)?,
        queues: read_packed(from)?,
        routers: read_packed(from)?,
        state: read_packed(from)?,
        subqueues: read_packed(from)?,
        flow_totals: read(from)?,
        queue_totals: read(from)?,
        router_totals: read(from)?,
        station_totals: read(from)?,
        subqueue_totals: read(from)?,
        transfers: read(from)?,
        playback_totals: read(from)?,
        datagram_totals: read(from)?,
        impairment_totals: read(from)?,
        ..Samples::default()
    })
}
