"""Table of the return kept under sensor faults."""

from rich.console import Console
from rich.table import Table

from wocar.evaluation.audit_result import AuditResult
from wocar.evaluation.fault_suite import kept_returns


def show_faults(result: AuditResult) -> None:
    """One row for each fault: the share of the natural return kept at each strength; nothing where there are none."""
    kept = kept_returns(result)
    if not kept:
        return
    table = Table(title="return kept under sensor faults")
    table.add_column("fault")
    for k in range(max(map(len, kept.values()))):
        table.add_column(f"strength {k + 1}", justify="right")
    for fault, shares in kept.items():
        table.add_row(fault, *(f"{share:.0%} at {strength:g}" for strength, share in shares.items()))
    Console().print(table)
