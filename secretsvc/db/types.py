"""One name for each part of a statement whose own parameter tells a reader nothing."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Row, Select
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.elements import KeyedColumnElement
from sqlalchemy.types import TypeEngine

#: A SELECT, of whatever columns.
Query = Select[*tuple[Any, ...]]
#: A UNION of such.
CompoundQuery = CompoundSelect[*tuple[Any, ...]]
#: What stands for a value in a statement, of whatever type.
Expression = ColumnElement[Any]
#: The columns of a table or a subquery, by their names.
Columns = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
#: The type of a column, whatever it makes of it.
ColumnType = TypeEngine[Any]
#: What a statement found, by the names of its columns.
FoundRow = Row[*tuple[Any, ...]]
